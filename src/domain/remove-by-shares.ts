import type { MikroORM } from '@mikro-orm/postgresql';

/** How much goes in one night. */
export interface Shares {
  /** Times the statement runs at most; what is left waits for the next night. */
  most: number;
  /** Aborted: no further share is begun. */
  signal: AbortSignal;
}

/** Repeats a statement that removes a limited number of rows until it finds none: each by itself, so that nobody waits long for one. */
export async function removeByShares(
  orm: MikroORM,
  sql: string,
  parameters: unknown[],
  { most, signal }: Shares,
): Promise<void> {
  for (let share = 0; share < most && !signal.aborted; share += 1) {
    const { affectedRows } = await orm.em.fork().execute<{ affectedRows?: number }>(sql, parameters, 'run');
    if (!affectedRows) return;
  }
}
