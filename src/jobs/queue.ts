import type { EntityManager } from '@mikro-orm/postgresql';
import { fromKysely, PgBoss } from 'pg-boss';
import type { z } from 'zod';
import type { JobKind, JobQueue } from '../domain/ports/jobs.ts';
import type { Log } from '../domain/ports/log.ts';

/** What does a kind of job: it gets the payload and a signal that stops it. */
export interface Job<P extends z.ZodType = z.ZodType> {
  kind: JobKind<P>;
  handle(payload: z.output<P>, signal: AbortSignal): Promise<void>;
}

/** The queue with its own life: begun after the database, ended before it. */
export interface RunningQueue extends JobQueue {
  /** Makes the queues of these kinds and, in a worker, begins to work them. */
  start(options: { kinds: readonly JobKind[]; jobs: readonly Job[] }): Promise<void>;
  /** Whether it is started and answers. */
  healthy(): Promise<boolean>;
  /** Takes no new job, waits for running ones. */
  stop(timeoutSeconds: number): Promise<void>;
}

const transactionOf = (em: EntityManager) => fromKysely(em.getTransactionContext() as never);

/**
 * pg-boss on the service's own database. A worker that is killed loses its job to another after some ten seconds: heartbeat 10 s, looked for
 * every 2 s, and polled every 2 s because a job put back for retry sends no notification.
 */
export function createQueue({ url, log }: { url: string; log: Log }): RunningQueue {
  const boss = new PgBoss({
    connectionString: url,
    application_name: 'portico-jobs',
    schema: 'pgboss',
    max: 4,
    useListenNotify: true,
    superviseIntervalSeconds: 2,
    monitorIntervalSeconds: 2,
  });
  boss.on('error', (err) => log.warn({ err }, 'job queue'));
  let started: Promise<void> | null = null;

  return {
    async send(kind, payload, { em, singletonKey } = {}) {
      await started;
      await boss.send(kind.name, kind.payload.parse(payload) as object, {
        ...(em && { db: transactionOf(em) }),
        ...(singletonKey !== undefined && { singletonKey }),
      });
    },
    start({ kinds, jobs }) {
      started = (async () => {
        await boss.start();
        for (const kind of kinds) {
          await boss.createQueue(kind.name, {
            notify: true,
            retryLimit: kind.retries,
            retryDelay: 1,
            retryBackoff: true,
            expireInSeconds: kind.expireSeconds,
            heartbeatSeconds: 10,
          });
        }
        for (const { kind, handle } of jobs) {
          const polling = { notifyPollingIntervalSeconds: 2, heartbeatRefreshSeconds: 3, burstWhenBatchFull: true };
          await boss.work(kind.name, polling, async ([job]) => {
            if (job) await handle(kind.payload.parse(job.data), job.signal);
          });
        }
      })();
      started.catch(() => {});
      return started;
    },
    async healthy() {
      if (!started) return false;
      await started;
      return (await boss.getQueues()).length > 0;
    },
    async stop(timeoutSeconds) {
      if (!started) return;
      await started.catch(() => {});
      await boss.stop({ graceful: true, timeout: timeoutSeconds * 1000, close: true });
    },
  };
}
