import { z } from 'zod';
import { fieldError } from '../../errors.ts';
import type { ProjectContext } from '../../operation.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import { freeObject } from '../../shapes.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import type { ListOrder } from '../content/list-orders.ts';
import { searchWords } from '../content/search.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { lowerBound } from '../content/slug-rivals.ts';
import { checkAddress } from '../path-rules.ts';
import { comesBefore, sortEntries } from './entry-order.ts';
import {
  asTime,
  type Condition,
  isPlaceField,
  isTimeField,
  type KnownEntry,
  matches,
  readFilter,
  readSort,
  type SortKey,
} from './entry-query.ts';
import { nextOrder } from './next-order.ts';
import { invalidEntries } from './validate.ts';

/** What decides which entries a list shows and in which order, as it is asked for. */
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
    .describe('Fields, each descending with a leading -'),
  filter: freeObject.optional().describe('filter[<field>][<operator>]=value'),
  draft: z.enum(['any', 'only', 'without']).default('any'),
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
export interface Selection {
  conditions: Condition[];
  keys: SortKey[];
  draft: SelectionInput['draft'];
  locale: string | undefined;
  dir: string | undefined;
  depth: number | undefined;
  q: string | undefined;
  invalid: boolean;
}

/** Reads what a list was asked for. @throws DomainError naming the field */
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

const unread = { frontmatter: null, title: '', draft: false, size: 0 };

/**
 * The entries a selection shows, in order; files are read only when the selection depends on what they say.
 * @param before the order of the same selection at an earlier tree, to go on from
 */
export async function orderEntries(
  { services, git }: Pick<ProjectContext, 'services' | 'git'>,
  { snapshot, site }: { snapshot: Snapshot; site: SiteIndex },
  index: CollectionIndex,
  selection: Selection,
  before?: ListOrder,
): Promise<readonly IndexedEntry[]> {
  const { entries } = index;
  const inPlace = placedIn(index, selection);
  const { draft, q } = selection;
  const { conditions, keys } = timed(index, selection);
  const found = q === undefined ? null : await services.content.search(git, entries, searchWords(q), inPlace);
  const readsFiles = draft !== 'any' || [...conditions, ...keys].some(({ field }) => !isPlaceField(field));
  const facts = readsFiles ? await services.content.collectionFacts(git, snapshot, index) : [];
  const invalid = selection.invalid
    ? new Set(await invalidEntries({ services, git }, { snapshot, site }, index))
    : null;
  const known = (entry: IndexedEntry, at: number): KnownEntry => ({ entry, facts: facts[at] ?? unread });
  const isShown = (one: KnownEntry) =>
    inPlace(one.entry) &&
    (!found || found.has(one.entry)) &&
    (!invalid || invalid.has(one.entry)) &&
    (draft === 'any' || one.facts.draft === (draft === 'only')) &&
    matches(one, conditions);
  // What a search finds may change without the files, and what is invalid with those of other collections.
  const next =
    before && !found && !invalid
      ? nextOrder(before, entries, {
          knownAt: (at) => known(entries[at] as IndexedEntry, at),
          isShown,
          knownOf: (entry) => known(entry, lowerBound(entries, entry.path)),
          comesBefore: (one, other) =>
            keys.length > 0 ? comesBefore(one, other, keys) : one.entry.path < other.entry.path,
        })
      : null;
  if (next) return next;
  const shown = entries.map(known).filter(isShown);
  return (keys.length > 0 ? sortEntries(shown, keys) : shown).map(({ entry }) => entry);
}
