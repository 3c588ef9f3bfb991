import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../kernel/errors.ts';
import { executeBound } from '../../kernel/sql.ts';

/** Tokens of one conversation. */
export const conversationTokens = 1_000_000;

export interface Budget {
  organization_id: number;
  /** Tokens of the conversation so far. */
  tokens: number;
  /** Of the organisation in a month; null: none. */
  limit: number | null;
  now: Date;
}

const monthOf = (at: Date) => at.toISOString().slice(0, 7);

const overMonth = (limit: number) =>
  new DomainError(
    'tokens_used',
    `The organisation has used the ${limit} tokens it has for the assistant this month; an administrator can raise the limit`,
  );

const overConversation = () => new DomainError('tokens_used', 'This conversation has used its tokens; begin a new one');

/**
 * Refuses a message where nothing is left for its reply.
 * @throws DomainError `tokens_used`
 */
export async function checkTokens(em: EntityManager, { organization_id, tokens, limit, now }: Budget): Promise<void> {
  if (tokens >= conversationTokens) throw overConversation();
  if (limit !== null && (await usedTokens(em, organization_id, now)) >= limit) throw overMonth(limit);
}

/**
 * Counts tokens before they are used.
 * @throws DomainError `tokens_used` when the conversation or its organisation has no more of them
 */
export async function reserveTokens(em: EntityManager, budget: Budget, tokens: number): Promise<void> {
  const { organization_id, limit, now } = budget;
  if (budget.tokens + tokens > conversationTokens) throw overConversation();
  if (limit !== null && tokens > limit) throw overMonth(limit);
  const rows = await executeBound<unknown>(
    em,
    `insert into assistant_usage as known (organization_id, month, tokens) values ($1, $2, $3)
     on conflict (organization_id, month) do update set tokens = known.tokens + excluded.tokens
       where $4::double precision is null or known.tokens + excluded.tokens <= $4 returning tokens`,
    [organization_id, monthOf(now), tokens, limit],
  );
  if (rows.length === 0) throw overMonth(limit ?? 0);
}

/** Counts tokens off that were reserved and not used; fewer than none: more were used. */
export async function releaseTokens(
  em: EntityManager,
  { organization_id, now }: Budget,
  tokens: number,
): Promise<void> {
  await executeBound(
    em,
    'update assistant_usage set tokens = greatest(0, tokens - $3) where organization_id = $1 and month = $2',
    [organization_id, monthOf(now), tokens],
  );
}

/** Tokens an organisation has used this month. */
export async function usedTokens(em: EntityManager, organization_id: number, now: Date): Promise<number> {
  const rows = await executeBound<{ tokens: number }>(
    em,
    'select tokens from assistant_usage where organization_id = $1 and month = $2',
    [organization_id, monthOf(now)],
  );
  return Number(rows[0]?.tokens ?? 0);
}
