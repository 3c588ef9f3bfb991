import { executeBound } from '../domain/bound-query.ts';
import type { Services } from '../domain/services.ts';
import { Setting } from '../domain/setting.entity.ts';

/** Name of the setting that says when this was done last. */
const mark = 'upkeep clock';

const open = `status in ('pending', 'running', 'paused')`;
const moved = (column: string) => `${column} = ${column} - interval '1 millisecond' * $1::float8`;

/**
 * What waits for a time, or is held until one, that was worked out before the clock was set back; it is moved by as much as the clock was.
 * `$1` is that in milliseconds, `$2` the time now. A time somebody has named (`until` of a delay) stays.
 */
const moves = [
  `update execution set ${moved('waiting_until')} where ${open} and waiting_until > $2`,
  `update execution set ${moved('started_at')} where ${open} and started_at > $2`,
  `update step_run set ${moved('next_try_at')} where status = 'waiting' and next_try_at > $2
     and (type <> 'delay' or input->>'until' is null) and execution_id in (select id from execution where ${open})`,
  `update notification set ${moved('next_attempt_at')} where status = 'pending' and next_attempt_at > $2`,
  `update notification set ${moved('leased_until')} where status = 'pending' and leased_until > $2`,
];

/** Claims of commands and of merges, which hold for some time from when they were made: these are made now. `$1` is the time now. */
const claims = [
  'update idempotency_key set created_at = $1 where created_at > $1',
  'update pull set merging_at = $1 where merging_at > $1',
];

/**
 * Notices that the clock was set back since it was last looked at, and mends what would wait for it to catch up. Looked at every minute, so
 * nothing waits longer than a minute beside its own time; what is set back by less is not noticed, and delays by less.
 */
export async function outliveSetbacks({
  orm,
  sharedClock,
  log,
}: Pick<Services, 'orm' | 'sharedClock' | 'log'>): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    const now = await sharedClock.now(em);
    const row = await em.findOne(Setting, { name: mark });
    const last = typeof row?.value === 'string' ? Date.parse(row.value) : Number.NaN;
    const setback = last - now.getTime();
    if (setback > 0) {
      log.warn({ seconds: Math.round(setback / 1000) }, 'the clock was set back; what waits for a time is moved along');
      for (const sql of moves) await executeBound(em, sql, [setback, now]);
      for (const sql of claims) await executeBound(em, sql, [now]);
    }
    await em.upsert(Setting, { name: mark, value: now.toISOString() });
  });
}
