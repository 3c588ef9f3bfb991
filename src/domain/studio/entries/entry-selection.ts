import { z } from 'zod';
import { fieldError } from '../../../kernel/errors.ts';
import { freeObject } from '../../../kernel/shapes.ts';
import { forEachYielding, mapYielding, sortYielding } from '../../../lib/concurrency.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import type { ListOrder } from '../content/content-index.ts';
import { searchWords } from '../content/search.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { checkAddress } from '../path-rules.ts';
import type { StudioContext } from '../studio.ts';
import {
  absent,
  asTime,
  type Condition,
  fieldValue,
  incomparable,
  isPlaceField,
  isTimeField,
  type KnownEntry,
  matches,
  rankOf,
  readFilter,
  readSort,
  type SortKey,
  updatedKey,
} from './entry-query.ts';
import { invalidEntries } from './validate.ts';

/** Compares two entries by their positions. */
type Compare = (a: number, b: number) => number;

/** What an entry is ordered by for one key. Texts stand for all kinds: values of one rank are compared alike. */
function sortValue(known: KnownEntry, { field, isTime }: SortKey): { rank: number; value: string } {
  const own = fieldValue(known, field);
  const value = isTime ? asTime(own) : own;
  const rank = rankOf(value);
  return { rank, value: (rank === incomparable ? '' : value) as string };
}

/** The order of two values of one key by their ranks; absent values come last in both directions. */
function orderOf(left: number, one: string, right: number, other: string, { descending }: SortKey): number {
  const [before, after] = descending ? [1, -1] : [-1, 1];
  if (left !== right) {
    if (left === absent || right === absent) return left - right;
    return left < right ? before : after;
  }
  return one < other ? before : one > other ? after : 0;
}

/** Compares by one key; values and their ranks are looked up once, not in every comparison. */
async function compareBy(entries: readonly KnownEntry[], key: SortKey): Promise<Compare> {
  const ranks = new Uint8Array(entries.length);
  const values = await mapYielding(entries, (known, at) => {
    const { rank, value } = sortValue(known, key);
    ranks[at] = rank;
    return value;
  });
  return (a, b) => orderOf(ranks[a] as number, values[a] as string, ranks[b] as number, values[b] as string, key);
}

/** Sorts by the keys; equal entries come in order of their slugs, so that pages never overlap. */
export async function sortEntries(entries: readonly KnownEntry[], keys: readonly SortKey[]): Promise<KnownEntry[]> {
  const compares: Compare[] = [];
  for (const key of keys) compares.push(await compareBy(entries, key));
  const compare: Compare = (a, b) => {
    for (const byKey of compares) {
      const order = byKey(a, b);
      if (order !== 0) return order;
    }
    return (entries[a] as KnownEntry).entry.slug < (entries[b] as KnownEntry).entry.slug ? -1 : 1;
  };
  const unsorted = await mapYielding(entries, (_, at) => at);
  return mapYielding(await sortYielding(unsorted, compare), (at) => entries[at] as KnownEntry);
}

/** Whether an entry comes before another one by the keys. */
export function comesBefore(one: KnownEntry, other: KnownEntry, keys: readonly SortKey[]): boolean {
  for (const key of keys) {
    const [mine, its] = [sortValue(one, key), sortValue(other, key)];
    const order = orderOf(mine.rank, mine.value, its.rank, its.value, key);
    if (order !== 0) return order < 0;
  }
  return one.entry.slug < other.entry.slug;
}

/** So many entries that came, went or changed that it is quicker to order all of them. */
const manyMoved = 200;

interface Moved {
  gone: ReadonlySet<IndexedEntry>;
  /** Positions among the entries after. */
  come: readonly number[];
}

/** What two lists in order of paths differ by, a changed entry being one that went and one that came; null: by much. */
function moved(before: readonly IndexedEntry[], after: readonly IndexedEntry[]): Moved | null {
  const gone = new Set<IndexedEntry>();
  const come: number[] = [];
  let at = 0;
  for (const old of before) {
    for (; at < after.length && (after[at]?.path ?? '') < old.path && after[at] !== old; at += 1) come.push(at);
    if (after[at] === old) at += 1;
    else gone.add(old);
    if (gone.size + come.length > manyMoved) return null;
  }
  for (; at < after.length && come.length <= manyMoved; at += 1) come.push(at);
  return gone.size + come.length > manyMoved ? null : { gone, come };
}

/** How the entries of a list are chosen and ordered. */
interface Choice {
  knownAt(at: number): KnownEntry;
  isShown(known: KnownEntry): boolean;
  /** Of an entry that is in the list before and after. */
  knownOf(entry: IndexedEntry): KnownEntry;
  comesBefore(one: KnownEntry, other: KnownEntry): boolean;
}

/**
 * The order of a list made from that of an earlier tree: only what came, went or changed is looked at and put in its place.
 * @returns null when that is too much
 */
export function nextOrder(
  before: ListOrder,
  entries: readonly IndexedEntry[],
  choice: Choice,
): readonly IndexedEntry[] | null {
  const difference = moved(before.entries, entries);
  if (!difference) return null;
  const { gone, come } = difference;
  const ordered = before.ordered.filter((entry) => !gone.has(entry));
  for (const at of come) {
    const known = choice.knownAt(at);
    if (!choice.isShown(known)) continue;
    let [low, high] = [0, ordered.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (choice.comesBefore(choice.knownOf(ordered[middle] as IndexedEntry), known)) low = middle + 1;
      else high = middle;
    }
    ordered.splice(low, 0, known.entry);
  }
  return ordered;
}

/** What decides which entries a list shows and in which order, as requested. */
export const selectionInput = {
  q: z
    .string()
    .max(500, 'must be at most 500 characters')
    .optional()
    .describe('Words; the last one may be unfinished. Text without letters and digits finds nothing'),
  sort: z
    .array(z.string().max(200))
    .max(5, 'must have at most 5 fields')
    .optional()
    .describe(
      'Fields, each descending with a leading -. `@updated` is when entries were last committed, for lists of up to 20,000 entries',
    ),
  filter: freeObject
    .optional()
    .describe('filter[<field>][<operator>]=value; at most 16 KiB, and 250 characters for contains'),
  draft: z.enum(['any', 'only', 'without']).meta({ id: 'DraftFilter' }).default('any'),
  locale: z.string().max(35).optional(),
  invalid: z
    .boolean()
    .optional()
    .describe('true: only entries whose frontmatter cannot be read or breaks the schema, each with its `faults`'),
  dir: z.string().optional().describe('Only entries below this directory of the collection'),
  depth: z.int32().min(1, 'must be at least 1').max(64, 'must be at most 64').optional().describe('Levels below `dir`'),
};
const selectionShape = z.object(selectionInput);
type SelectionInput = z.output<typeof selectionShape>;

/** The same, read; paging and shape are no part of it. */
interface Selection {
  conditions: Condition[];
  keys: SortKey[];
  draft: SelectionInput['draft'];
  locale: string | undefined;
  dir: string | undefined;
  depth: number | undefined;
  q: string | undefined;
  invalid: boolean;
}

/** Reads the request of a list. @throws DomainError naming the field */
export function selectionOf({ filter, sort, draft, locale, dir, depth, q, invalid }: SelectionInput): Selection {
  return {
    conditions: readFilter(filter ?? {}),
    keys: readSort(sort ?? []),
    draft,
    locale,
    dir: dir === undefined || dir === '' ? undefined : checkAddress('dir', dir),
    depth,
    q: q?.trim() ? q : undefined,
    invalid: invalid === true,
  };
}

function placedIn({ schema: { path: root } }: CollectionIndex, { dir, depth, locale }: Selection) {
  const base = [root, dir].filter(Boolean).join('/');
  const prefix = base === '' ? '' : `${base}/`;
  return ({ path, locale: own }: IndexedEntry): boolean =>
    path.startsWith(prefix) &&
    (depth === undefined || path.slice(prefix.length).split('/').length <= depth) &&
    (locale === undefined || own === locale);
}

/** Operators that compare by order. */
const ordering: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte']);

/** What a condition compares a field of dates with. @throws DomainError `invalid_filter` where what is no date would be ordered among dates */
function timeValue({ field, operator, value }: Condition): unknown {
  const time = asTime(value);
  if (ordering.has(operator) && typeof time !== 'number')
    throw fieldError(
      'invalid_filter',
      `filter.${field}.${operator}`,
      'must be a date, with or without a time (ISO 8601)',
    );
  return time;
}

/**
 * The conditions and keys of a selection, those of fields that hold dates marked.
 * @throws DomainError `invalid_filter`
 */
function timed({ schema: { fields } }: CollectionIndex, { conditions, keys }: Selection) {
  const mark = <T extends { field: string }>(one: T) => ({ ...one, isTime: isTimeField(fields, one.field) });
  return {
    keys: keys.map(mark),
    conditions: conditions.map(mark).map((one) => {
      const isValue = one.isTime && one.operator !== 'contains' && one.operator !== 'exists';
      return isValue ? { ...one, value: timeValue(one) } : { ...one, isTime: false };
    }),
  };
}

/** Where an entry is in the list of all, which is in order of the paths. */
function positionOf({ path }: IndexedEntry, entries: readonly IndexedEntry[]): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.path ?? '') < path) low = middle + 1;
    else high = middle;
  }
  return low;
}

const unread = { frontmatter: null, title: '', draft: false, size: 0 };

/** Lists of more entries are in no order of their last commits, which are found in the history. */
const mostUpdated = 20_000;

/** Whether the order of a selection depends on the history, not on the files alone. */
export const isByHistory = ({ keys }: Pick<Selection, 'keys'>) => keys.some(({ field }) => field === updatedKey);

/** Adds when entries were last committed. @throws DomainError `invalid_request` where they are too many */
async function addUpdated(
  { studio, git }: Pick<StudioContext, 'studio' | 'git'>,
  { commit }: Snapshot,
  entries: readonly KnownEntry[],
): Promise<void> {
  if (entries.length > mostUpdated)
    throw fieldError(
      'invalid_request',
      'sort',
      `must not have ${updatedKey} for a list of more than ${mostUpdated.toLocaleString('en')} entries; narrow it by filters`,
    );
  if (!commit) return;
  const paths = await mapYielding(entries, ({ entry }) => entry.path);
  const last = await studio.content.lastCommits(git, commit, paths);
  await forEachYielding(entries, (known) => {
    const date = last.get(known.entry.path)?.committer.date;
    if (date !== undefined) known.updated = Date.parse(date);
  });
}

/**
 * The entries a selection shows, in order; files are read only when the selection depends on what they say.
 * @param before the order of the same selection at an earlier tree, to go on from
 */
export async function orderEntries(
  { studio, git }: Pick<StudioContext, 'studio' | 'git'>,
  { snapshot, site }: { snapshot: Snapshot; site: SiteIndex },
  index: CollectionIndex,
  selection: Selection,
  before?: ListOrder,
): Promise<readonly IndexedEntry[]> {
  const { entries } = index;
  const inPlace = placedIn(index, selection);
  const { draft, q } = selection;
  const { conditions, keys } = timed(index, selection);
  const found = q === undefined ? null : await studio.content.search(git, entries, searchWords(q), inPlace);
  const byHistory = isByHistory({ keys });
  const readsFiles =
    draft !== 'any' || [...conditions, ...keys].some(({ field }) => !isPlaceField(field) && field !== updatedKey);
  const facts = readsFiles ? await studio.content.collectionFacts(git, snapshot, index) : [];
  const invalid = selection.invalid ? new Set(await invalidEntries({ studio, git }, { snapshot, site }, index)) : null;
  const known = (entry: IndexedEntry, at: number): KnownEntry => ({ entry, facts: facts[at] ?? unread });
  const isShown = (one: KnownEntry) =>
    inPlace(one.entry) &&
    (!found || found.has(one.entry)) &&
    (!invalid || invalid.has(one.entry)) &&
    (draft === 'any' || one.facts.draft === (draft === 'only')) &&
    matches(one, conditions);
  // What a search finds and the history may change without the files, and what is invalid with those of other collections.
  const next =
    before && !found && !invalid && !byHistory
      ? nextOrder(before, entries, {
          knownAt: (at) => known(entries[at] as IndexedEntry, at),
          isShown,
          knownOf: (entry) => known(entry, positionOf(entry, entries)),
          comesBefore: (one, other) =>
            keys.length > 0 ? comesBefore(one, other, keys) : one.entry.path < other.entry.path,
        })
      : null;
  if (next) return next;
  const shown: KnownEntry[] = [];
  let at = 0;
  await forEachYielding(entries, (entry) => {
    const one = known(entry, at++);
    if (isShown(one)) shown.push(one);
  });
  if (byHistory) await addUpdated({ studio, git }, snapshot, shown);
  return mapYielding(keys.length > 0 ? await sortEntries(shown, keys) : shown, ({ entry }) => entry);
}
