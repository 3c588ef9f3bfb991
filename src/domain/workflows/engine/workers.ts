import { hostname } from 'node:os';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import { executeBound } from '../../../kernel/sql.ts';
import { advanceJob } from '../advance-job.ts';
import { executionSubject } from '../executions/execution-feed.ts';

// Which execution kills its processes, when many act in each? What was acting in a process that died is a suspect. The suspects of a process act
// in a group beside all other work, one at first and more while none of them kills it. A group that dies halves: each of its members may act
// from then on in groups of half that size at most, until it acts alone. Only the loss of one that acted alone counts, so no bystander is blamed,
// and one that kills every process it acts in is alone after few losses. A checkpoint clears a suspect: it is an execution like others again.

/** Suspects that act at the same time at most in one process. */
export const largestGroup = 32;

/** How often an execution may have been taken up and lost before it is suspected though it was not seen to act. */
const mostTaken = 5;

/** How long a group acts without a loss before it may have twice as many members, though none is cleared; milliseconds. */
const trial = 3_000;

/** `waiting` for its turn, or `acting`; null: no suspect. */
export type Suspicion = 'waiting' | 'acting' | null;

/** An execution that was lost with its process. */
interface LostExecution {
  attempt: number;
  /** A step of it was noted as acting on the outside or on the project; otherwise it had only been taken up. */
  has_acted: boolean;
  suspect: Suspicion;
  /** Suspects of a group it may be a member of at most; null: nothing is known against it beside that it is one. */
  suspect_group: number | null;
}

/** What becomes of it. */
type Loss<T extends LostExecution> = T & {
  /** It was under way; otherwise it only waited for its turn. */
  wasActing: boolean;
  /** It counts against this execution. */
  counts: boolean;
};

/**
 * Which executions were acting in a process that died, and whether its end counts against one: the suspect that acted alone, or the only
 * execution that acted. What had only been taken up did not act and is not suspected, whether others acted or none did: a process that is
 * killed while it starts leaves hundreds of those. One that was taken up and lost time and again is suspected after all, since something may
 * kill its processes before a step of it is noted; so is one that was all its process had.
 */
export function lossesOf<T extends LostExecution>(rows: readonly T[]): Loss<T>[] {
  const moved = rows.filter(({ suspect }) => suspect !== 'waiting');
  const group = moved.filter(({ suspect }) => suspect === 'acting').length;
  const hasActed = (row: T) => row.has_acted || row.suspect === 'acting' || moved.length === 1;
  const acting = moved.filter((row) => hasActed(row) || row.attempt > mostTaken);
  return rows.map((row) => {
    const wasActing = acting.includes(row);
    const wasOnly = acting.length === 1 && hasActed(row);
    const counts = wasActing && (row.suspect === 'acting' ? group === 1 : wasOnly);
    return { ...row, suspect_group: groupAfter(row, { counts, group }), wasActing, counts };
  });
}

function groupAfter({ suspect, suspect_group }: LostExecution, { counts, group }: { counts: boolean; group: number }) {
  if (counts) return 1;
  if (suspect !== 'acting') return suspect_group;
  return Math.max(1, Math.floor(Math.min(group, suspect_group ?? largestGroup) / 2));
}

type Member = { id: string; suspect_group?: number | null | undefined };

const limitOf = ({ suspect_group }: Member): number => suspect_group ?? largestGroup;

/** The suspects one process holds: the acting group, and the waiting ones. */
export class Suspects<T extends Member> {
  /** Suspects with the smallest group limit first; of equal limits, in the order of acceptance. */
  #waiting: T[] = [];
  readonly #acting = new Map<string, T>();
  /** How many may act at the same time, as far as no member may act among fewer only. */
  #size = 1;
  /** When the group last grew, or had its first member. */
  #grown = 0;
  readonly #now: () => number;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Suspects that wait to act. */
  get waiting(): readonly T[] {
    return this.#waiting;
  }

  /** Holds suspects until it is their turn. */
  add(rows: readonly T[]): void {
    this.#waiting = [...this.#waiting, ...rows].sort((a, b) => limitOf(a) - limitOf(b) || (a.id < b.id ? -1 : 1));
  }

  /** @returns the next one whose turn it is, which acts from then on; null: none may act now */
  next(): T | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    this.#growInTime();
    const most = Math.min(this.#size, limitOf(first), ...[...this.#acting.values()].map(limitOf));
    if (this.#acting.size >= most) return null;
    this.#waiting.shift();
    if (this.#acting.size === 0) this.#grown = this.#now();
    this.#acting.set(first.id, first);
    return first;
  }

  /**
   * Ends the turn of one that acted.
   * @param isCleared it has come past a checkpoint, and so has proved that more may act at the same time
   * @returns false: it had no turn
   */
  end(row: T, isCleared: boolean): boolean {
    if (this.#acting.get(row.id) !== row) return false;
    this.#acting.delete(row.id);
    if (isCleared) this.#grow(this.#size + 1);
    // Who comes later comes from another loss.
    if (this.#acting.size === 0 && this.#waiting.length === 0) this.#size = 1;
    return true;
  }

  /** Takes one away that waits. */
  remove(id: string): void {
    this.#waiting = this.#waiting.filter((row) => row.id !== id);
  }

  /** Takes away all that wait. */
  clear(): T[] {
    return this.#waiting.splice(0);
  }

  /** Long calls keep suspects from being cleared, and what waits behind them need not wait for all of them one after another. */
  #growInTime(): void {
    if (this.#acting.size > 0 && this.#now() - this.#grown >= trial) this.#grow(2 * this.#size);
  }

  #grow(size: number): void {
    this.#size = Math.min(size, largestGroup);
    this.#grown = this.#now();
  }
}

/** Seconds after which a process that shows no life counts as gone. */
const patience = 10;
/** Losses an execution may have that are counted against it, and how long it waits after each but the last, milliseconds. */
export const mostCrashes = 5;
const waits = [2_000, 8_000, 30_000, 120_000];
const mostAtOnce = 1_000;

type Needs = Pick<Services, 'orm' | 'sharedClock' | 'events' | 'jobs'>;

/** Why an execution lost the process that advanced it, as its log says it. */
const reasons = {
  silent: `it showed no sign of life for ${patience} s`,
  restarted: 'the server was started again',
  fault: 'a fault of the server, see its log',
};
type LossReason = keyof typeof reasons;

/** A clock that was set back leaves times that no process would write now. */
const alive = `worker.alive_until between now() and now() + interval '${2 * patience} seconds'`;

const beatSql = `
  insert into worker (id, host, pid, started_at, alive_until, steady_since)
  values ($1, $2, $3, now(), now() + interval '${patience} seconds',
    greatest(now() - interval '${patience} seconds', pg_postmaster_start_time()))
  on conflict (id) do update set alive_until = excluded.alive_until,
    steady_since = case when ${alive} and worker.steady_since <= now() then worker.steady_since else now() end
    where worker.lost_at is null
  returning id`;

/** Shows that a process lives. @returns false when it was given up: what it advanced is others' by now */
export async function beat(em: EntityManager, worker: string): Promise<boolean> {
  return (await executeBound<unknown>(em, beatSql, [worker, hostname(), process.pid])).length > 0;
}

/** Takes back what `beat` has shown, when the process ends in order and advances nothing any more. */
export async function removeWorker(em: EntityManager, worker: string): Promise<void> {
  await executeBound(em, 'delete from worker where id = $1 and lost_at is null', [worker]);
}

// Only a process that reached the database all the time can declare others dead: it may have been away for all of them.
const isLost = `lost_at is null and worker.id <> $1 and (alive_until = '-infinity' or not (${alive}) and exists (
  select 1 from worker as judge where judge.id = $1 and judge.lost_at is null
    and judge.alive_until between now() and now() + interval '${2 * patience} seconds'
    and judge.steady_since <= now() - interval '${patience} seconds'))`;
const isAbandoned = `driver_id is not null and status in ('pending', 'running', 'paused')
  and not exists (select 1 from worker where worker.id = driver_id and lost_at is null)`;

const lookSql = `select exists (select 1 from worker where ${isLost}) or exists (select 1 from execution where ${isAbandoned}) as found`;
const buryWorkersSql = `
  update worker set lost_at = now(), lost_reason = case when alive_until = '-infinity' then 'restarted' else 'silent' end where ${isLost}`;
const abandonedSql = `
  select id, project_id, driver_id, attempt, suspect, suspect_group, crashes, cancel_requested,
    (select lost_reason from worker where worker.id = driver_id) as reason,
    exists (select 1 from step_run where execution_id = execution.id and step_run.status = 'running'
      and type in ('http', 'operation')) as has_acted
  from execution where ${isAbandoned} order by id limit ${mostAtOnce} for update`;

interface LostRow extends LostExecution {
  id: string;
  project_id: number;
  driver_id: string;
  crashes: number;
  cancel_requested: boolean;
  reason: LossReason | null;
}

const loseSql = `
  update execution set driver_id = null, crashes = lost.crashes, waiting_until = lost.until, suspect = lost.suspect,
    suspect_group = lost.suspect_group
  from json_to_recordset($1::json) as lost (id uuid, crashes integer, until timestamptz, suspect text, suspect_group integer) where execution.id = lost.id`;

const messageOf = ({ reason, counts }: Loss<LostRow>, crashes: number): string => {
  const why = reasons[reason ?? 'silent'];
  if (!counts) return `The worker that executed this beside others was lost: ${why}`;
  return `The worker that executed this was lost: ${why}; loss ${crashes} of ${mostCrashes} without a finished step`;
};

/** Frees executions whose drivers are gone, says so in their logs, and sends the jobs of executions that need not wait. */
async function lose(
  em: EntityManager,
  { sharedClock, events, jobs }: Needs,
  losses: readonly Loss<LostRow>[],
): Promise<void> {
  const now = sharedClock.recent();
  const freed = losses.map((loss) => {
    const crashes = loss.crashes + (loss.counts ? 1 : 0);
    const wait = loss.counts && !loss.cancel_requested ? waits[crashes - 1] : undefined;
    return { ...loss, loss, crashes, until: wait === undefined ? null : new Date(now.getTime() + wait) };
  });
  const rows = freed.map(({ id, crashes, until, suspect, suspect_group, wasActing }) => ({
    id,
    crashes,
    until,
    suspect_group,
    suspect: wasActing || suspect !== null ? 'waiting' : null,
  }));
  await executeBound(em, loseSql, [JSON.stringify(rows)]);
  await events.append(
    em,
    freed
      .filter(({ wasActing }) => wasActing)
      .map(({ loss, crashes, until, ...row }) => ({
        subject: executionSubject(row),
        events: [
          {
            type: 'log',
            at: now.toISOString(),
            actor: `worker:${loss.driver_id}`,
            level: 'warn',
            message: messageOf(loss, crashes),
            reason: loss.reason ?? 'silent',
            worker: loss.driver_id,
            counted: loss.counts,
            losses: crashes,
            ...(until && { until: until.toISOString() }),
          },
        ],
      })),
  );
  const ready = freed.filter(({ until }) => until === null).map(({ id }) => ({ execution_id: id }));
  await jobs.sendMany(advanceJob, ready, { em });
}

/**
 * Gives up processes that show no life, once each, and frees what they advanced: what was acting is under suspicion from then on, and a loss
 * counts against an execution only when no other can have caused it.
 * @param judge the process that looks; it has to be in touch with the database itself
 * @returns how many executions were freed
 */
export async function removeLostWorkers(services: Needs, judge: string): Promise<number> {
  const em = services.orm.em.fork();
  const [look] = await executeBound<{ found: boolean }>(em, lookSql, [judge]);
  // Looked for every two seconds, and mostly for nothing: then it costs one statement and no transaction.
  if (look?.found !== true) return 0;
  return em.transactional(async (within) => {
    await executeBound(within, buryWorkersSql, [judge]);
    const rows = await executeBound<LostRow>(within, abandonedSql, []);
    const byWorker = Map.groupBy(rows, ({ driver_id }) => driver_id);
    const losses = [...byWorker.values()].flatMap(lossesOf);
    await lose(within, services, losses);
    for (const worker of byWorker.keys()) {
      const acting = losses.filter(({ driver_id, wasActing }) => wasActing && driver_id === worker).map(({ id }) => id);
      await executeBound(within, 'update worker set acting = $2 where id = $1', [worker, acting]);
    }
    return rows.length;
  });
}

/**
 * Gives up all other processes, where it is known that there are none.
 * @param own id of this one
 */
export async function abandonAll({ orm }: Pick<Services, 'orm'>, own: string): Promise<void> {
  await executeBound(orm.em.fork(), `update worker set alive_until = '-infinity' where id <> $1 and lost_at is null`, [
    own,
  ]);
}

/** Counts a fault of ours against the execution whose driver met it; somebody takes it up again after the wait. */
export function recordFault(services: Needs, { id, attempt }: { id: string; attempt: number }): Promise<void> {
  return services.orm.em.fork().transactional(async (em) => {
    const rows = await executeBound<LostRow>(
      em,
      `select id, project_id, driver_id, attempt, true as has_acted, suspect, suspect_group, crashes, cancel_requested from execution
       where id = $1 and attempt = $2 and driver_id is not null for update`,
      [id, attempt],
    );
    const losses = rows.map((row) => ({ ...row, reason: 'fault' as const, wasActing: true, counts: true }));
    await lose(em, services, losses);
  });
}

const letGoSql = `
  update execution set driver_id = null, waiting_until = $2, suspect = case when suspect is not null then 'waiting' end
  from json_to_recordset($1::json) as held (id uuid, attempt integer)
  where execution.id = held.id and execution.attempt = held.attempt and driver_id is not null
  returning execution.id`;

/**
 * Lets executions go that nothing speaks against: their process ends, or the database was away.
 * @param pause how long they are left alone; without it their jobs are sent at once
 */
export async function releaseExecutions(
  services: Needs,
  held: readonly { id: string; attempt: number }[],
  pause: number | null,
): Promise<void> {
  if (held.length === 0) return;
  const until = pause === null ? null : new Date(services.sharedClock.recent().getTime() + pause);
  const rows = held.map(({ id, attempt }) => ({ id, attempt }));
  await services.orm.em.fork().transactional(async (em) => {
    const freed = await executeBound<{ id: string }>(em, letGoSql, [JSON.stringify(rows), until]);
    if (until === null)
      await services.jobs.sendMany(
        advanceJob,
        freed.map(({ id }) => ({ execution_id: id })),
        { em },
      );
  });
}
