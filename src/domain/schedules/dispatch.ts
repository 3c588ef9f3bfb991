import { setTimeout } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../kernel/services.ts';
import { mapYielding } from '../../lib/concurrency.ts';
import { minute } from './local-time.ts';
import { type DueFire, dueFire, firesOfTiming } from './next-fires.ts';
import type { FireOutcome } from './schedule-fire.entity.ts';
import type { NextFire, ScheduleSource, TimedSchedule } from './schedule-source.ts';

/** A row that was written later than now, under a clock that was set back since, is replaced unless it started something. */
const claimFireSql = `
  insert into schedule_fire (source, source_id, fire_at, outcome, missed, created_at)
  select ?, source_id, fire_at, outcome, missed, ?
  from json_to_recordset(?::json) as fire (source_id text, fire_at timestamptz, outcome text, missed integer)
  on conflict (source, source_id, fire_at)
  do update set outcome = excluded.outcome, missed = excluded.missed, created_at = excluded.created_at
  where schedule_fire.outcome <> 'started' and schedule_fire.created_at > excluded.created_at
  returning source_id`;

const settleSql = `
  update schedule_fire set outcome = settled.outcome, started_id = settled.started_id
  from json_to_recordset(?::json) as settled (source_id text, fire_at timestamptz, outcome text, started_id text)
  where source = ? and schedule_fire.source_id = settled.source_id and schedule_fire.fire_at = settled.fire_at`;

interface Firing<Due extends TimedSchedule> {
  schedule: Due;
  fire: DueFire;
}

/** Writes the fires first: only the process that has written a fire may start something for it. @returns the written fires */
async function takeFires<Due extends TimedSchedule>(
  em: EntityManager,
  source: ScheduleSource<Due>,
  due: readonly Firing<Due>[],
  now: Date,
): Promise<Firing<Due>[]> {
  const rows = due.map(({ schedule, fire }) => ({
    source_id: schedule.id,
    fire_at: fire.fire_at,
    outcome: fire.in_time ? 'started' : 'missed',
    missed: fire.missed,
  }));
  const taken = await em.execute<{ source_id: string }[]>(claimFireSql, [source.name, now, JSON.stringify(rows)]);
  const ids = new Set(taken.map(({ source_id }) => source_id));
  return due.filter(({ schedule }) => ids.has(schedule.id));
}

/** What came of a fire, as it is written down. */
interface Settled {
  source_id: string;
  fire_at: Date;
  outcome: FireOutcome;
  started_id: string | null;
  /** Milliseconds after its time. */
  lag: number;
}

/** Starts what is due, and reports what was not started. */
async function settle<Due extends TimedSchedule>(
  em: EntityManager,
  services: Services,
  source: ScheduleSource<Due>,
  fires: readonly Firing<Due>[],
  now: Date,
): Promise<Settled[]> {
  const inTime = fires.filter(({ fire }) => fire.in_time);
  const started = await source.start(
    em,
    services,
    inTime.map(({ schedule, fire: { fire_at } }) => ({ schedule, fire_at })),
  );
  const settled: Settled[] = [];
  for (const one of fires) {
    const { schedule, fire } = one;
    const { fire_at, missed, in_time } = fire;
    const came = in_time ? started[inTime.indexOf(one)] : undefined;
    const outcome: FireOutcome = came?.outcome ?? 'missed';
    if (outcome !== 'started') {
      const reason = outcome === 'missed' ? 'missed' : 'overlap';
      // Each with an empty map of entities: a flush looks at all that are in it.
      const own = em.fork({ keepTransactionContext: true });
      await source.skipped(own, services, schedule, { fire_at, missed, reason });
    }
    settled.push({
      source_id: schedule.id,
      fire_at,
      outcome,
      started_id: came?.outcome === 'started' ? came.started_id : null,
      lag: Math.max(0, now.getTime() - fire_at.getTime()),
    });
  }
  return settled;
}

/**
 * Fires schedules of a source that are due, in one transaction.
 * @param limit most of them
 * @param faulty schedules to leave alone
 * @param onClaim called with the fire when the limit is one, before anything can fail
 * @returns how many were due
 */
async function dispatchBatch<Due extends TimedSchedule>(
  services: Services,
  source: ScheduleSource<Due>,
  limit: number,
  faulty: readonly string[],
  onClaim: (id: string) => void,
): Promise<number> {
  const settled: Settled[] = [];
  const count = await services.orm.em.fork().transactional(async (em) => {
    const now = await services.sharedClock.now(em);
    const grace = services.settings.schedule_grace * 60_000;
    const claimed = await source.claim(em, now, limit, faulty);
    if (claimed.length === 0) return 0;
    if (limit === 1) onClaim(claimed[0]?.id ?? '');
    const due = await mapYielding(claimed, (schedule) => ({
      schedule,
      fire: dueFire(schedule, schedule.next_fire_at, now, grace),
    }));
    settled.push(...(await settle(em, services, source, await takeFires(em, source, due, now), now)));
    await em.execute(settleSql, [JSON.stringify(settled), source.name]);
    await source.setNext(
      em,
      due.map(({ schedule: { id }, fire: { next_fire_at } }) => ({
        id,
        next_fire_at,
        started_id: settled.find(({ source_id }) => source_id === id)?.started_id ?? null,
      })),
    );
    return due.length;
  });
  for (const { outcome, lag } of settled) services.metrics.fire(source.name, outcome, lag / 1000);
  return count;
}

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
export async function dispatchSchedules<Due extends TimedSchedule>(
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

/** How a schedule goes on after a time, where that is sooner than it would be. */
function sooner({ id, next_fire_at, ...timing }: TimedSchedule, after: Date): NextFire[] {
  const next = firesOfTiming(timing).after(after);
  return next !== null && next < next_fire_at ? [{ id, next_fire_at: next, started_id: null }] : [];
}

/**
 * Lets the schedules of a source go on by a clock that was set back: a next time that was worked out before lies too far ahead. So times that were
 * fired come again, and start nothing, since each has its row. Those of the last minute are due, too: the setback was not noticed until now.
 */
export async function resumeSchedules(
  { orm, log }: Pick<Services, 'orm' | 'log'>,
  source: Pick<ScheduleSource, 'name' | 'ahead' | 'setNext'>,
  now: Date,
): Promise<void> {
  const after = new Date(now.getTime() - minute);
  const resume = (schedule: TimedSchedule) => {
    try {
      return sooner(schedule, after);
    } catch (err) {
      log.error({ err, source: source.name, schedule: schedule.id }, 'a schedule keeps its next time');
      return [];
    }
  };
  let beyond: string | null = null;
  do {
    const last = beyond;
    // In transactions of their own: people who edit these schedules need not wait for all of them.
    beyond = await orm.em.fork().transactional(async (em) => {
      const schedules = await source.ahead(em, now, atOnce, last);
      const next = (await mapYielding(schedules, resume)).flat();
      if (next.length > 0) await source.setNext(em, next);
      return schedules.at(-1)?.id ?? null;
    });
  } while (beyond !== null);
}
