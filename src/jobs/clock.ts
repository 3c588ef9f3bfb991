/**
 * What a worker does by the clock: schedules fire at every full minute, upkeep looks whether a night's work is due, and the engine looks at its
 * executions several times a second. Every worker does, and none leads: rows and the database's time decide.
 */
import { crawlerScheduleSource } from '../domain/crawlers/schedules/crawler-schedule-source.ts';
import { dispatchSchedules } from '../domain/schedules/dispatch.ts';
import type { AllServices } from '../domain/services.ts';
import { advanceJob } from '../domain/workflows/advance-job.ts';
import { sweep, wakeAwaited, wakeDue } from '../domain/workflows/engine/sweeper.ts';
import { removeLostWorkers } from '../domain/workflows/engine/workers.ts';
import { workflowScheduleSource } from '../domain/workflows/triggers/workflow-schedule-source.ts';
import type { RunningQueue } from './queue.ts';

const minute = 60_000;

/**
 * Calls `act` at every full minute of the clock. Each wait is at most a minute long, whatever the clock does meanwhile: one that is set back or
 * forward delays the next beat by no more, and two beats are never in one wait. What is due at a beat is decided by rows and the database's time.
 * @param act is given the number of the beat, from 1; it must not throw
 * @returns how to end it
 */
export function everyMinute(act: (beat: number) => void): () => void {
  let timer: NodeJS.Timeout;
  let beats = 0;
  const wait = () => {
    timer = setTimeout(
      () => {
        beats += 1;
        act(beats);
        wait();
      },
      minute - (Date.now() % minute),
    );
  };
  wait();
  return () => clearTimeout(timer);
}

/**
 * Whether what is done once a night is due.
 * @param last day (`2026-11-23`, UTC) it was done for last; null: never. One beyond tomorrow was written under a clock that was wrong
 * @param at time of the night, UTC, as `03:17`. A night without a server is made up for
 */
export function isNightDue(last: string | null, at: string, now: Date): boolean {
  const [today = '', time = ''] = now.toISOString().split('T');
  if (time.slice(0, 5) < at) return false;
  const tomorrow = new Date(now.getTime() + 24 * 60 * minute).toISOString().slice(0, 10);
  return last === null || last < today || last > tomorrow;
}

/** Fires what is due of all that has schedules. */
export async function fireSchedules(services: AllServices, signal: AbortSignal): Promise<void> {
  await Promise.all([
    dispatchSchedules(services, crawlerScheduleSource, signal),
    dispatchSchedules(services, workflowScheduleSource, signal),
  ]);
}

/** Fires what is due at once and at every minute, in every worker: none of them leads. @returns how to end it; waits for what is under way */
export function beginSchedules(services: AllServices): () => Promise<void> {
  const ended = new AbortController();
  let underWay: Promise<void> | null = null;
  const fire = async () => {
    try {
      await fireSchedules(services, ended.signal);
    } catch (err) {
      services.log.error({ err }, 'schedules were not fired; they are looked at again within a minute');
    }
    underWay = null;
  };
  const tick = () => {
    underWay ??= fire();
    return underWay;
  };
  void tick();
  const end = everyMinute(() => void tick());
  return async () => {
    ended.abort();
    end();
    await underWay;
  };
}

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
    every(often.sweep, 'lost jobs were', () => sweep(services, () => queue.isIdle(advanceJob), engine)),
  ];
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all(underWay);
  };
}
