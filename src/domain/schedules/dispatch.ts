import { setTimeout } from 'node:timers/promises';
import type { Services } from '../services.ts';
import { dispatchBatch } from './dispatch-batch.ts';
import type { DueSchedule, ScheduleSource } from './schedule-source.ts';

const atOnce = 100;
/** Batches under way at the same time; each holds a connection. */
const lanes = 3;
/** How often, and after how many milliseconds, rows that were locked are looked at again before the next minute. */
const looks = 8;
const pause = 250;

/**
 * Fires every schedule of a source that is due, each time exactly once however many processes do so: rows that another one holds are skipped,
 * and the row of a fire is unique. A schedule that cannot be fired keeps no other one back; it is tried again at the next call.
 * @returns how many fires were dispatched by this call
 */
export async function dispatchSchedules<Due extends DueSchedule>(
  services: Services,
  source: ScheduleSource<Due>,
  signal: AbortSignal = new AbortController().signal,
): Promise<number> {
  const faulty: string[] = [];

  /** One after another, to find out which it is that fails. */
  async function singly(): Promise<number> {
    let total = 0;
    while (!signal.aborted && total < atOnce) {
      let id: string | undefined;
      try {
        const count = await dispatchBatch(services, source, 1, faulty, (claimed) => {
          id = claimed;
        });
        if (count === 0) break;
        total += count;
      } catch (err) {
        if (id === undefined) throw err;
        services.log.error({ err, source: source.name, schedule: id }, 'a schedule was not fired');
        faulty.push(id);
      }
    }
    return total;
  }

  async function lane(): Promise<number> {
    for (let total = 0; ; ) {
      if (signal.aborted) return total;
      const count = await dispatchBatch(services, source, atOnce, faulty, () => {}).catch((err: unknown) => {
        services.log.warn({ err, source: source.name }, 'schedules are fired one by one');
        return singly();
      });
      if (count === 0) return total;
      total += count;
    }
  }

  async function isOver(): Promise<boolean> {
    const em = services.orm.em.fork();
    return signal.aborted || !(await source.anyDue(em, await services.sharedClock.now(em), faulty));
  }

  let total = 0;
  for (let look = 0; look < looks; look += 1) {
    const totals = await Promise.all(Array.from({ length: lanes }, lane));
    total += totals.reduce((sum, count) => sum + count, 0);
    if (await isOver()) break;
    await setTimeout(pause, null, { signal }).catch(() => {});
  }
  return total;
}
