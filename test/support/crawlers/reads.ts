import type { EntityManager } from '@mikro-orm/postgresql';
import type { TestApp } from '../app.ts';

/** What reads many rows when it is planned badly. */
const tables = ['crawl_url', 'snapshot_entry'];

/** Has the statistics of these tables stay as they are until they are made anew by `analyse`. */
export async function holdStatistics({ services }: Pick<TestApp, 'services'>): Promise<{ analyse(): Promise<void> }> {
  const em = services.orm.em.fork();
  for (const table of tables) await em.execute(`alter table ${table} set (autovacuum_enabled = off)`);
  return {
    async analyse() {
      for (const table of tables) await em.execute(`analyze ${table}`);
    },
  };
}

/** Rows of tables this connection has read; what it did in transactions before may be among them. */
async function readsOf(em: EntityManager, of: readonly string[]): Promise<number> {
  const [row] = await em.execute<{ reads: string }[]>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as reads from pg_stat_xact_user_tables where relname = any (string_to_array(?, ' '))`,
    [of.join(' ')],
  );
  return Number(row?.reads);
}

/** @returns what `work` does in the transaction of `em`, and how many rows it reads for that, of frontiers and snapshots unless given */
export async function readingIn<T>(
  em: EntityManager,
  work: (em: EntityManager) => Promise<T>,
  of: readonly string[] = tables,
): Promise<{ result: T; reads: number }> {
  const before = await readsOf(em, of);
  const result = await work(em);
  return { result, reads: (await readsOf(em, of)) - before };
}

/** `readingIn` a transaction of its own. */
export async function reading<T>(
  { services }: Pick<TestApp, 'services'>,
  work: (em: EntityManager) => Promise<T>,
  of?: readonly string[],
): Promise<{ result: T; reads: number }> {
  return services.orm.em.fork().transactional((em) => readingIn(em, work, of));
}
