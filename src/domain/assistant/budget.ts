import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../kernel/errors.ts';
import { executeBound } from '../../kernel/sql.ts';

/** Tokens of one conversation. */
export const conversationTokens = 1_000_000;

/** Bytes that are stored of one conversation; the step of a reply that comes to them is still stored whole. */
export const mostStored = 16 * 1024 * 1024;

/** Bytes of each message and call of a conversation ($1): its long texts, and 1 KiB for all else, so that none counts as nothing. */
export const partSizesSql = `
  select 'messages' as kind, version, 1024 + octet_length(text) + coalesce(octet_length(context::text), 0) as bytes
  from assistant_message where conversation_id = $1
  union all
  select 'calls', version, 1024 + octet_length(arguments) + coalesce(octet_length(result), 0)
  from assistant_call where conversation_id = $1`;

const storedSql = `
  select coalesce(sum(bytes), 0)::float8 as bytes from (${partSizesSql}) as part where kind = any($2::text[])`;

/** What of a conversation grows. */
export const conversationParts = ['messages', 'calls'] as const;
export type ConversationPart = (typeof conversationParts)[number];

/** Bytes that are stored of a conversation. */
export async function storedBytes(
  em: EntityManager,
  conversation_id: string,
  parts: readonly ConversationPart[] = conversationParts,
): Promise<number> {
  const [row] = await executeBound<{ bytes: number }>(em, storedSql, [conversation_id, parts]);
  return row?.bytes ?? 0;
}

export const fullConversation = () => new DomainError('limit_reached', 'This conversation is full; begin a new one');

/**
 * Refuses what would add to a conversation that has grown to its bound: a model can make calls with long results that it never gets again, so
 * tokens alone bound nothing.
 * @throws DomainError `limit_reached`
 */
export async function checkStored(em: EntityManager, conversation_id: string): Promise<void> {
  if ((await storedBytes(em, conversation_id)) >= mostStored) throw fullConversation();
}

/** Longer than a step can take. */
const reservationMinutes = 15;

/** How texts are estimated, upward. */
const charactersPerToken = 3;

/** Tokens of texts, estimated. */
export const estimateTokens = (characters: number): number => Math.ceil(characters / charactersPerToken);

export interface Budget {
  organization_id: number;
  /** Null for what is of no conversation. */
  conversation_id: string | null;
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
export async function checkTokens(
  em: EntityManager,
  { organization_id, tokens, limit, now }: Omit<Budget, 'conversation_id'>,
): Promise<void> {
  if (tokens >= conversationTokens) throw overConversation();
  if (limit !== null && (await usedTokens(em, organization_id, now)) >= limit) throw overMonth(limit);
}

/** What a step of a model may use. */
interface Needed {
  /** At most, with its question. */
  tokens: number;
  question: number;
}

// By the clock of the database, which all processes share.
const reserveSql = `
  with counted as (
    insert into assistant_usage as known (organization_id, month, tokens) values ($1, $2, $3::integer)
    on conflict (organization_id, month) do update set tokens = known.tokens + excluded.tokens
      where $4::double precision is null or known.tokens + excluded.tokens <= $4
    returning organization_id, month)
  insert into assistant_reservation (id, organization_id, month, conversation_id, tokens, question, expires_at)
  select gen_random_uuid(), organization_id, month, $5::uuid, $3, $6::integer, now() + interval '${reservationMinutes} minutes' from counted
  returning id`;

/**
 * Counts tokens before they are used.
 * @returns what names them to `releaseTokens`
 * @throws DomainError `tokens_used` when the conversation or its organisation has no more of them
 */
export async function reserveTokens(
  em: EntityManager,
  { organization_id, conversation_id, limit, now, ...budget }: Budget,
  { tokens, question }: Needed,
): Promise<string> {
  if (budget.tokens + tokens > conversationTokens) throw overConversation();
  if (limit !== null && tokens > limit) throw overMonth(limit);
  const given = [organization_id, monthOf(now), tokens, limit, conversation_id, question];
  const [row] = await executeBound<{ id: string }>(em, reserveSql, given);
  if (!row) throw overMonth(limit ?? 0);
  return row.id;
}

/**
 * Parts of a `with` that give reservations back. Rows of several organisations are locked in one order, so that processes which do so at the same time
 * cannot wait for each other.
 * @param gone deletes the reservations, and returns of each what was reserved and what of it counts as used
 */
const giveBackSql = (gone: string) => `
  gone as (${gone}),
  left_over as (select organization_id, month, sum(tokens - used) as tokens from gone group by organization_id, month),
  locked as materialized (
    select organization_id, month, left_over.tokens from assistant_usage join left_over using (organization_id, month)
    order by organization_id, month for update of assistant_usage),
  counted as (
    update assistant_usage set tokens = greatest(0, assistant_usage.tokens - locked.tokens) from locked
    where assistant_usage.organization_id = locked.organization_id and assistant_usage.month = locked.month)`;

const releaseSql = `
  with ${giveBackSql('delete from assistant_reservation where id = $1 returning organization_id, month, tokens, $2::integer as used')}
  select 1`;

/**
 * Counts tokens off that were reserved and not used; where more were used, more are counted. Does nothing when that was done already, be it by
 * another process: a reservation is given back by deleting its row.
 */
export async function releaseTokens(em: EntityManager, reservation: string, used: number): Promise<void> {
  await executeBound(em, releaseSql, [reservation, used]);
}

/** The answer a step has begun is the last message of its conversation. */
const releaseDeadSql = `
  with ${giveBackSql(`
    delete from assistant_reservation as reservation where conversation_id = any($1::uuid[])
    returning conversation_id, organization_id, month, tokens, least(tokens, question + coalesce((
      select case when role = 'assistant' and not complete then ceil(char_length(text) / ${charactersPerToken}.0) end
      from assistant_message as message where message.conversation_id = reservation.conversation_id order by number desc limit 1), 0)) as used`)}
  update assistant_conversation set tokens = assistant_conversation.tokens + dead.used
  from (select conversation_id, sum(used)::integer as used from gone group by conversation_id) as dead where id = dead.conversation_id`;

/**
 * Gives back what steps of replies had reserved whose process is gone, and counts in their conversations what these have used: the question, and
 * what is stored of the answer.
 * @param conversations whose rows the caller has locked
 */
export async function releaseDead(em: EntityManager, conversations: readonly string[]): Promise<void> {
  await executeBound(em, releaseDeadSql, [conversations]);
}

const releaseExpiredSql = `
  with ${giveBackSql(`
    delete from assistant_reservation where expires_at < now() returning organization_id, month, tokens, question as used`)}
  select 1`;

/** Gives back what is left of steps that no process takes up: of suggestions whose process has died, and of replies in conversations that were deleted. */
export async function releaseExpired(em: EntityManager): Promise<void> {
  await executeBound(em, releaseExpiredSql, []);
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
