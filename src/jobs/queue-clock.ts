import type { PgBoss } from 'pg-boss';
import type { Log } from '../domain/ports/log.ts';

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
