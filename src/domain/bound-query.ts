import type { EntityManager } from '@mikro-orm/postgresql';

/** The mapper's own connection takes statements in this form (kysely's `CompiledQuery`). */
interface BoundQueries {
  executeQuery(query: object): Promise<{ rows: unknown[] }>;
}

const converted = (em: EntityManager, error: unknown) =>
  error instanceof Error ? em.getPlatform().getExceptionConverter().convertException(error) : error;

/**
 * Runs a statement in the transaction of `em` whose values (`$1`, `$2`…) travel beside it, bytes as bytes. The mapper writes every value
 * into the statement's text, bytes as twice as many digits, which then is read again; for large values that costs more than the statement.
 * @throws DriverException like `em.execute`
 */
export async function executeBound<Row>(
  em: EntityManager,
  sql: string,
  parameters: readonly (string | number | Uint8Array | Date | null)[],
): Promise<Row[]> {
  const transaction = em.getTransactionContext() as unknown as BoundQueries | undefined;
  if (!transaction) throw new Error('a bound statement needs a transaction');
  const query = { sql, parameters, query: { kind: 'RawNode' }, queryId: { queryId: 'bound' } };
  try {
    return (await transaction.executeQuery(query)).rows as Row[];
  } catch (error) {
    throw converted(em, error);
  }
}
