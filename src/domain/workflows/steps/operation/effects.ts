import type { EntityManager } from '@mikro-orm/postgresql';
import type { StepCall } from '../step-call.ts';

/** What is known of an operation a step has called under its key, from an earlier try or an earlier driver. */
export type Effect = { state: 'none' } | { state: 'started' } | { state: 'done'; result: unknown };

/**
 * Notes that a step is about to act, unless one with its key has before.
 * @returns what was known before
 */
export async function beginEffect(
  em: EntityManager,
  { idempotency_key, execution_id, services }: StepCall,
): Promise<Effect> {
  const inserted = await em.execute(
    `insert into effect (key, execution_id, state, created_at) values (?, ?, 'started', ?)
     on conflict (key) do nothing returning key`,
    [idempotency_key, execution_id, services.clock.now()],
  );
  if (inserted.length > 0) return { state: 'none' };
  const [known] = (await em.execute('select state, result from effect where key = ?', [idempotency_key])) as {
    state: 'started' | 'done';
    result: unknown;
  }[];
  return known?.state === 'done' ? { state: 'done', result: known.result } : { state: 'started' };
}

/** Keeps what an operation answered, in its own transaction when `em` is in one. */
export async function keepEffect(em: EntityManager, key: string, result: unknown): Promise<void> {
  await em.execute(`update effect set state = 'done', result = ?::json where key = ?`, [
    JSON.stringify(result ?? null),
    key,
  ]);
}

/** Forgets a call that was refused: it has done nothing. */
export async function dropEffect(em: EntityManager, key: string): Promise<void> {
  await em.execute(`delete from effect where key = ? and state = 'started'`, [key]);
}
