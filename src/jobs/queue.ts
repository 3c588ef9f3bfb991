import { setTimeout } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { PgBoss } from 'pg-boss';
import type { z } from 'zod';
import { DomainError } from '../kernel/errors.ts';
import { executeBound } from '../kernel/sql.ts';
import type { JobKind, JobQueue } from '../ports/jobs.ts';
import type { Log } from '../ports/log.ts';

/** How long workers sleep at most, and a clock that was set back goes unnoticed; milliseconds. */
const longestSleep = 30_000;

/** pg-boss (12.30) looks after its queues when so long has passed since the last time; a last time that is still to come stops that. */
const noticeSql = `
  update pgboss.queue set monitor_claim_on = null, maintain_on = null where monitor_claim_on > now() or maintain_on > now() returning name`;

/** Jobs that wait for a time which was worked out before the clock was set back, and signs of life of workers that may be dead. */
const repairs = [
  `update pgboss.job set start_after = now() where state < 'active' and start_after > now() and coalesce(started_on, created_on) > now()`,
  `update pgboss.job set heartbeat_on = now(), started_on = now() where state = 'active' and (heartbeat_on > now() or started_on > now())`,
];

/** Mends the queue when the database's clock was set back: jobs that wait become due, which does no harm, since rows say what is to be done. */
export async function outliveQueueSetback(boss: PgBoss): Promise<void> {
  const database = boss.getDb();
  const { rows } = await database.executeSql(noticeSql);
  if (rows.length > 0) for (const sql of repairs) await database.executeSql(sql);
}

/**
 * Keeps a queue going whatever clocks do. Workers work out how long they sleep by the machine's clock: set back by an hour, it would have them
 * sleep for an hour. A job that is sent wakes all of them; one put back for retry wakes none, and waits for this.
 * @param workers one of each kind of job
 * @returns how to end it
 */
export function keepQueueAwake(boss: PgBoss, workers: readonly string[], log: Pick<Log, 'debug'>): () => void {
  const timer = setInterval(() => {
    for (const worker of workers) boss.notifyWorker(worker);
    outliveQueueSetback(boss).catch((err: unknown) => log.debug({ err }, 'the clock of the queue was not looked at'));
  }, longestSleep);
  timer.unref();
  return () => clearInterval(timer);
}

/** What does a kind of job: it gets the payload and a signal that stops it. */
export interface Job<P extends z.ZodType = z.ZodType> {
  kind: JobKind<P>;
  /** How many of this kind a process does at the same time; default one. */
  concurrency?: number;
  /** How many of these may be of one group. */
  perGroup?: number;
  handle(payload: z.output<P>, signal: AbortSignal): Promise<void>;
}

/** The same for a kind whose jobs are taken up many at a time; a failure is that of all of them. */
export interface BatchJob<P extends z.ZodType = z.ZodType> {
  kind: JobKind<P>;
  /** Jobs taken up together at most. */
  batch: number;
  concurrency: number;
  handleAll(payloads: z.output<P>[]): Promise<void>;
}

/** The queue with its own life: begun after the database, ended before it. */
export interface RunningQueue extends JobQueue {
  /** Makes the queues of these kinds and, in a worker, begins to work them. */
  start(options: { kinds: readonly JobKind[]; jobs: readonly (Job | BatchJob)[] }): Promise<void>;
  /** Whether no job of a kind waits to be given to a worker, as far as was counted lately. */
  isIdle(kind: JobKind): Promise<boolean>;
  /** Whether it is started and answers. */
  healthy(): Promise<boolean>;
  /** Takes no new job, waits for running ones. */
  stop(timeoutSeconds: number): Promise<void>;
}

/** How long a job waits for a queue that is starting, and a queue for its next try; milliseconds. */
const startPatience = 5_000;
const startAgain = 1_000;

/** The transaction of `em`, as pg-boss wants it; it puts jobs in with few different statements. */
const transactionOf = (em: EntityManager) => ({
  executeSql: async (text: string, values: unknown[] = []) => ({ rows: await executeBound(em, text, values) }),
});

interface Options {
  url: string;
  log: Log;
  /** Gets the connections of the queue. */
  onPoolCreated?(pool: Pool): void;
}

/**
 * pg-boss on the service's own database. A worker that is killed loses its job to another after some ten seconds: heartbeat 10 s, looked for
 * every 2 s, and polled every 2 s because a job put back for retry sends no notification.
 */
export function createQueue({ url, log, onPoolCreated }: Options): RunningQueue {
  const boss = new PgBoss({
    connectionString: url,
    application_name: 'portico-jobs',
    schema: 'pgboss',
    max: 4,
    useListenNotify: true,
    // What is due at a time is fired by `jobs/clock.ts`.
    schedule: false,
    superviseIntervalSeconds: 2,
    monitorIntervalSeconds: 2,
  });
  boss.on('error', (err) => log.warn({ err }, 'job queue'));
  /** One of each kind of job. */
  const workers: string[] = [];
  let letSleep = () => {};
  const ended = new AbortController();
  let ready = false;
  let pool: Pool | null = null;
  let started: Promise<void> | null = null;

  const begin = async ({ kinds, jobs }: { kinds: readonly JobKind[]; jobs: readonly (Job | BatchJob)[] }) => {
    await boss.start();
    if (pool === null) {
      pool = (boss.getDb() as unknown as { pool: Pool }).pool;
      onPoolCreated?.(pool);
    }
    // One that is there keeps its settings anyway.
    const existing = new Set((await boss.getQueues()).map(({ name }) => name));
    for (const kind of kinds) {
      if (existing.has(kind.name)) continue;
      await boss.createQueue(kind.name, {
        notify: true,
        ...(kind.policy && { policy: kind.policy }),
        retryLimit: kind.retries,
        retryDelay: 1,
        retryBackoff: true,
        expireInSeconds: kind.expireSeconds,
        heartbeatSeconds: 10,
      });
    }
    for (const job of jobs) {
      const { kind } = job;
      const polling = {
        localConcurrency: job.concurrency ?? 1,
        notifyPollingIntervalSeconds: 2,
        heartbeatRefreshSeconds: 3,
        burstWhenBatchFull: true,
      };
      const groups = 'perGroup' in job && job.perGroup !== undefined && { localGroupConcurrency: job.perGroup };
      workers.push(
        'batch' in job
          ? await boss.work(kind.name, { ...polling, batchSize: job.batch }, (all) =>
              job.handleAll(all.map(({ data }) => kind.payload.parse(data))),
            )
          : await boss.work(kind.name, { ...polling, ...groups }, async ([one]) => {
              if (one) await job.handle(kind.payload.parse(one.data), one.signal);
            }),
      );
    }
    if (workers.length > 0) letSleep = keepQueueAwake(boss, workers, log);
    ready = true;
  };

  const untilReady = async () => {
    await Promise.race([started, setTimeout(startPatience, null, { ref: false })]);
    if (!ready) throw new DomainError('unavailable', 'The job queue is not ready; try again in a moment');
  };

  return {
    async send(kind, payload, { em, singletonKey, group, delaySeconds } = {}) {
      await untilReady();
      await boss.send(kind.name, kind.payload.parse(payload) as object, {
        ...(em && { db: transactionOf(em) }),
        ...(singletonKey !== undefined && { singletonKey }),
        ...(group !== undefined && { group: { id: group } }),
        ...(delaySeconds !== undefined && { startAfter: Math.ceil(delaySeconds) }),
      });
    },
    async sendMany(kind, payloads, { em } = {}) {
      if (payloads.length === 0) return;
      await untilReady();
      const jobs = payloads.map((payload) => ({ data: kind.payload.parse(payload) as object }));
      await boss.insert(kind.name, jobs, em && { db: transactionOf(em) });
    },
    async isIdle(kind) {
      await untilReady();
      const stats = await boss.getQueueStats(kind.name);
      return stats.every(({ queuedCount }) => queuedCount === 0);
    },
    start(work) {
      started = (async () => {
        while (!ready && !ended.signal.aborted) {
          try {
            await begin(work);
          } catch (err) {
            // The database may be away at this very moment; without its queue a server would never be ready again.
            log.warn({ err }, 'the job queue did not start; trying again');
            await setTimeout(startAgain, null, { signal: ended.signal }).catch(() => {});
          }
        }
      })();
      return started;
    },
    async healthy() {
      return ready && (await boss.getQueues()).length > 0;
    },
    async stop(timeoutSeconds) {
      ended.abort();
      await started;
      letSleep();
      if (!ready) return;
      await boss.stop({ graceful: true, timeout: timeoutSeconds * 1000, close: true });
    },
  };
}
