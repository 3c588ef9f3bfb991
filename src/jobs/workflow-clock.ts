import type { AllServices } from '../domain/services.ts';
import { advanceJob } from '../domain/workflows/engine/advance-job.ts';
import { sweep, wakeAwaited, wakeDue } from '../domain/workflows/engine/sweeper.ts';
import { removeLostWorkers } from '../domain/workflows/engine/workers.ts';
import type { RunningQueue } from './queue.ts';

/** Milliseconds between looks. */
const often = { due: 500, signals: 800, others: 2_000, sweep: 60_000 };
/** Looks for signals to one renewal of the lease. */
const looksToRenewal = 4;

/**
 * What the engine does by the clock: reads the signals for the executions it advances, renews its lease, and wakes those whose time has come,
 * whose driver has died, or whose job was lost. @returns how to end it; waits for what is under way
 */
export function beginWorkflowClock(services: AllServices, queue: Pick<RunningQueue, 'isIdle'>): () => Promise<void> {
  const { log, workflows } = services;
  const { engine } = workflows;
  const underWay = new Set<Promise<void>>();
  let looks = 0;

  const every = (milliseconds: number, what: string, work: () => Promise<unknown>) => {
    let isBusy = false;
    const timer = setInterval(() => {
      if (isBusy) return;
      isBusy = true;
      const one = work()
        .catch((err: unknown) => log.debug({ err }, `executions: ${what} not looked at; they are again in a moment`))
        .then(() => {
          isBusy = false;
          underWay.delete(one);
        });
      underWay.add(one);
    }, milliseconds);
    return timer;
  };
  const timers = [
    every(often.due, 'due executions were', () => wakeDue(services)),
    every(often.signals, 'signals for them were', () => engine.listen({ renew: looks++ % looksToRenewal === 0 })),
    every(often.others, 'lost workers were', () => removeLostWorkers(services, engine.id)),
    every(often.others, 'what they wait for was', () => wakeAwaited(services)),
    every(often.sweep, 'lost jobs were', () => sweep(services, () => queue.isIdle(advanceJob))),
  ];
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all(underWay);
  };
}
