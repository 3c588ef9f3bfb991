import { LRUCache } from 'lru-cache';
import { DomainError, type ErrorCode } from '../../../kernel/errors.ts';
import { upTo } from '../../../lib/version-cache.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type { StudioContext } from '../studio.ts';
import { conflictsBetween } from './merge-commits.ts';
import { ConflictRoom } from './merge-sides.ts';

/** One commit to be merged into another. */
export interface Pair {
  current: Oid;
  incoming: Oid;
}

type Context = Pick<StudioContext, 'em' | 'project' | 'services'>;

/** Raised when entries are merged by other rules than before: what was found out by the old ones is tried again. */
const version = 5;

/** All that decides about a merge beside the two commits. */
const rulesOf = ({ project }: Context) => `${version}:${project.settings.content_root ?? ''}`;

const keyOf = ({ current, incoming }: Pair) => `${current}:${incoming}`;

/** What the database knows of some pairs, by their keys. */
async function readMergeability(context: Context, pairs: readonly Pair[]): Promise<Map<string, boolean>> {
  if (pairs.length === 0) return new Map();
  const places = pairs.map(() => '(?, ?)').join(', ');
  const rows = (await context.em.execute(
    `select current_sha as current, incoming_sha as incoming, mergeable from mergeability
    where project_id = ? and rules = ? and (current_sha, incoming_sha) in (${places})`,
    [context.project.id, rulesOf(context), ...pairs.flatMap(({ current, incoming }) => [current, incoming])],
  )) as (Pair & { mergeable: boolean })[];
  return new Map(rows.map((row) => [keyOf(row), row.mergeable]));
}

/**
 * Keeps what was found out. Written on the connection of the context: within a transaction that holds the project's row any other one would
 * wait for it, and it for the other.
 */
async function writeMergeability(context: Context, found: readonly (Pair & { mergeable: boolean })[]): Promise<void> {
  if (found.length === 0) return;
  const { em, project, services } = context;
  const shared = [project.id, rulesOf(context), services.clock.now()];
  // Two that write the same rows take them in the same order.
  const rows = found.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const values = rows.flatMap(({ current, incoming, mergeable }) => [...shared, current, incoming, mergeable]);
  await em.execute(
    `insert into mergeability (project_id, rules, tested_at, current_sha, incoming_sha, mergeable)
    values ${rows.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')}
    on conflict (project_id, current_sha, incoming_sha) do update
    set rules = excluded.rules, mergeable = excluded.mergeable, tested_at = excluded.tested_at`,
    values,
  );
}

type MergeabilityContext = Pick<StudioContext, 'em' | 'git' | 'project' | 'services' | 'studio'>;

/** How much may be tried to answer one question: merges by lines, of those merges by fields, and for how many milliseconds. */
interface Effort {
  lines: number;
  fields: number;
  time: number;
  /** Tries the one pair although merges of its incoming commit are known to take long, and remembers when it comes to nothing. */
  alone?: boolean;
}

/** So that a list of a hundred untested pull requests is answered soon, too, and somebody waits for no merge that takes git minutes. */
export const perRequest: Effort = { lines: 100, fields: 5, time: 2_000 };

/** Two commits merge as they do for ever, so nothing here is stale; what is dropped is in the database. */
const known = new LRUCache<string, boolean>(upTo(10_000));

const memoryKey = ({ git, project }: MergeabilityContext, pair: Pair) =>
  JSON.stringify([git.id, project.settings.content_root, keyOf(pair)]);

/** Incoming commits at whose merges time ran out: they are left to the background, for others would wait for them again after each save. */
const slow = new LRUCache<string, true>(upTo(10_000));

const slowKey = ({ git }: MergeabilityContext, { incoming }: Pair) => JSON.stringify([git.id, incoming]);

/** Pairs that came to nothing alone: too long or too much for git. The server may have been busy, so that it is not for ever. */
const hopeless = new LRUCache<string, true>({ ...upTo(10_000), ttl: 3_600_000 });

/**
 * Whether commits merge into others without a conflict that people must settle: git's conflicts of lines that the fields do not have are
 * none. False without a common ancestor. Known pairs cost one query at most; of the others as many are tried as the effort allows, all
 * merges by lines in one process. What has been found when the time is over is kept.
 * @returns in the order of `pairs`; null: not known yet, and too much to find out now
 */
export async function mergeabilityOf(
  context: MergeabilityContext,
  pairs: readonly Pair[],
  effort = perRequest,
): Promise<(boolean | null)[]> {
  const recall = (pair: Pair) => known.get(memoryKey(context, pair));
  const distinct = new Map(pairs.map((pair) => [keyOf(pair), pair]));
  const answers = new Map<string, boolean>();
  const forgotten: Pair[] = [];
  for (const [key, pair] of distinct) {
    const answer = recall(pair);
    if (answer === undefined) forgotten.push(pair);
    else answers.set(key, answer);
  }
  for (const [key, mergeable] of await readMergeability(context, forgotten)) answers.set(key, mergeable);
  const isTried = (pair: Pair) =>
    !hopeless.has(memoryKey(context, pair)) && (effort.alone === true || !slow.has(slowKey(context, pair)));
  const untested = forgotten.filter((pair) => !answers.has(keyOf(pair)) && isTried(pair));
  const found = await tryMerges(context, untested, effort);
  await writeMergeability(context, found);
  for (const { mergeable, ...pair } of found) answers.set(keyOf(pair), mergeable);
  for (const pair of forgotten) {
    const answer = answers.get(keyOf(pair));
    if (answer !== undefined) known.set(memoryKey(context, pair), answer);
  }
  return pairs.map((pair) => answers.get(keyOf(pair)) ?? null);
}

/** Whether one commit merges into another without conflict, found out if need be; null: not known yet. */
export async function isMergeable(context: MergeabilityContext, pair: Pair): Promise<boolean | null> {
  const [answer = null] = await mergeabilityOf(context, [pair], { ...perRequest, lines: 1, fields: 1 });
  return answer;
}

/** How long somebody waits for conflicts that are only shown, milliseconds. */
export const conflictTime = 10_000;

/** Ends what somebody waits for, with an error that says that git took too long. */
export function timeLimit(time: number): AbortSignal {
  const ending = new AbortController();
  const over = () => ending.abort(new DomainError('git_timeout', 'git took too long and was stopped'));
  setTimeout(over, time).unref();
  return ending.signal;
}

const tooMuch: ReadonlySet<string> = new Set<ErrorCode>(['git_timeout', 'too_large']);

/** What git finds out; null where that takes too long or too much. @param also another error that is no reason to fail */
export const unlessTooMuch = <Found>(found: Promise<Found>, also?: ErrorCode): Promise<Found | null> =>
  found.catch((error: unknown) => {
    if (error instanceof DomainError && (tooMuch.has(error.code) || error.code === also)) return null;
    throw error;
  });

async function tryMerges(
  context: MergeabilityContext,
  untested: readonly Pair[],
  { lines, fields, time, alone = false }: Effort,
): Promise<(Pair & { mergeable: boolean })[]> {
  const tried = untested.slice(0, lines);
  if (tried.length === 0) return [];
  const began = performance.now();
  const until = timeLimit(time);
  const outcomes = await context.git.mergeability(tried, until);
  const found: (Pair & { mergeable: boolean })[] = [];
  const leave = (pair: Pair) => {
    slow.set(slowKey(context, pair), true);
    if (alone) hopeless.set(memoryKey(context, pair), true);
  };
  // What stands behind the first without an answer has not been tried, or comes to the same the next time.
  const [left] = tried.filter((_, at) => outcomes[at] === undefined);
  if (left) leave(left);
  let most = fields;
  for (const [at, pair] of tried.entries()) {
    const outcome = outcomes[at];
    if (outcome === undefined) continue;
    // Where git joined both sides, or one with what it takes for the same file renamed, only the merge itself says what comes of it.
    const settled = !outcome?.may_follow_renames;
    if (settled) found.push({ ...pair, mergeable: outcome?.clean === true });
    else if (most > 0 && !until.aborted) {
      most -= 1;
      const options = { conflictRoom: new ConflictRoom(1), signal: until };
      const merge = await unlessTooMuch(conflictsBetween(context, pair, options), 'unavailable');
      if (merge) found.push({ ...pair, mergeable: merge.conflicts.length === 0 });
      else leave(pair);
    }
  }
  const [answered] = found;
  if (alone && answered && performance.now() - began < perRequest.time) slow.delete(slowKey(context, answered));
  return found;
}
