import type { EntityManager, EntityName, FilterQuery } from '@mikro-orm/postgresql';

/**
 * Which of these ids have a row, in one look: callers are told no names of what is gone.
 * @param ids null and undefined stand for none
 * @param where what the rows have to be besides
 */
export async function idsThere<Row extends { id: number }>(
  em: EntityManager,
  entity: EntityName<Row>,
  ids: readonly (number | null | undefined)[],
  where: FilterQuery<Row> = {},
): Promise<ReadonlySet<number>> {
  const named = [...new Set(ids)].filter((id) => id != null);
  if (named.length === 0) return new Set();
  const among = { $and: [{ id: { $in: named } }, where] } as FilterQuery<Row>;
  const rows = await em.find(entity, among, { fields: ['id'] as never, disableIdentityMap: true });
  return new Set(rows.map(({ id }) => id));
}
