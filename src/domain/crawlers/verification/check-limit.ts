import type { EntityManager } from '@mikro-orm/postgresql';

const window = 60_000;
const most = 10;

/**
 * Counts a check of a crawler whose row the transaction holds.
 * @returns 0 when it may be made, else the seconds until the next one may
 */
export async function takeCheck(em: EntityManager, { id }: { id: number }, now: Date): Promise<number> {
  const sql = 'select verification_checks as times from crawler where id = ?';
  const [row] = await em.execute<[{ times: number[] | null }]>(sql, [id]);
  const recent = (row.times ?? []).filter((time) => now.getTime() - time < window);
  if (recent.length >= most) return Math.max(1, Math.ceil(((recent[0] ?? 0) + window - now.getTime()) / 1_000));
  const times = JSON.stringify([...recent, now.getTime()]);
  await em.execute('update crawler set verification_checks = ? where id = ?', [times, id]);
  return 0;
}
