import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';

/** What the mapper's own connections take (kysely's `CompiledQuery`); they hand `sql` and `parameters` to pg as they are. */
interface BoundQueries {
  executeQuery(query: object): Promise<{ rows: unknown[] }>;
}

/** Names of statements by their texts, of which there are as many as the program has. */
const names = new Map<string, string>();

function nameOf(sql: string): string {
  const known = names.get(sql);
  if (known !== undefined) return known;
  const name = `portico_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`;
  names.set(sql, name);
  return name;
}

/** What the driver throws, as the mapper would. */
export const asDriverException = (em: EntityManager, error: unknown): unknown =>
  error instanceof Error ? em.getPlatform().getExceptionConverter().convertException(error) : error;

/**
 * Runs a statement of constant text, in the transaction of `em` when it has one. Its values (`$1`, `$2`…) travel beside it, bytes as bytes, and
 * each connection reads and plans it once. The mapper writes every value into the text, bytes as twice as many digits, and the database reads
 * and plans that each time, which costs more than a small statement itself.
 * @param isKept false: it is planned each time, where a plan of another time would not do
 * @throws DriverException like `em.execute`
 */
export async function executeBound<Row>(
  em: EntityManager,
  sql: string,
  values: readonly unknown[],
  { isKept = true }: { isKept?: boolean } = {},
): Promise<Row[]> {
  const queries = (em.getTransactionContext() ?? em.getConnection().getClient()) as unknown as BoundQueries;
  const statement = { text: sql, ...(isKept && { name: nameOf(sql) }) };
  const query = { sql: statement, parameters: values, query: { kind: 'RawNode' }, queryId: { queryId: 'bound' } };
  try {
    return (await queries.executeQuery(query)).rows as Row[];
  } catch (error) {
    throw asDriverException(em, error);
  }
}
