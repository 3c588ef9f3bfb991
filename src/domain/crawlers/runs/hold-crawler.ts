import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Makes a transaction end that is left in the middle: a process that is stopped there, but not dead, would keep what it holds from whoever
 * takes its runs over.
 */
export async function letGo(em: EntityManager): Promise<void> {
  await em.execute(`set local idle_in_transaction_session_timeout = '5s'`);
}

/** Holds the crawler of a run until the transaction ends, before anything of its runs: who needs both takes them in this order. */
export async function holdCrawlerOf(em: EntityManager, run_id: number): Promise<void> {
  await em.execute('select id from crawler where id = (select crawler_id from crawler_run where id = ?) for update', [
    run_id,
  ]);
}
