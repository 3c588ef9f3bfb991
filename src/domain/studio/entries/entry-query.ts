import { fieldError } from '../../errors.ts';
import type { IndexedEntry } from '../content/collection-index.ts';
import type { EntryFacts } from '../content/entry-facts.ts';
import { titleOfSlug } from '../frontmatter/summarize.ts';

export const filterOperators = ['eq', 'ne', 'in', 'nin', 'lt', 'lte', 'gt', 'gte', 'contains', 'exists'] as const;
type Operator = (typeof filterOperators)[number];

export interface Condition {
  field: string;
  operator: Operator;
  value: unknown;
}

export interface SortKey {
  field: string;
  descending: boolean;
}

/** An entry with what its file says. */
export interface KnownEntry {
  entry: IndexedEntry;
  facts: EntryFacts;
}

const maxConditions = 20;
const maxSortKeys = 5;

/**
 * Reads `filter[<field>][<op>]=value`.
 * @throws DomainError `invalid_filter` naming what is wrong.
 */
export function readFilter(filter: Record<string, unknown>): Condition[] {
  const conditions: Condition[] = [];
  for (const [field, tests] of Object.entries(filter)) {
    const name = `filter.${field}`;
    if (tests === null || typeof tests !== 'object' || Array.isArray(tests)) {
      throw fieldError('invalid_filter', name, `needs an operator, such as filter[${field}][eq]`);
    }
    for (const [operator, value] of Object.entries(tests)) {
      if (!filterOperators.includes(operator as Operator)) {
        throw fieldError(
          'invalid_filter',
          `${name}.${operator}`,
          `is not an operator; use one of ${filterOperators.join(', ')}`,
        );
      }
      conditions.push({
        field,
        operator: operator as Operator,
        value: readValue(`${name}.${operator}`, operator as Operator, value),
      });
    }
  }
  if (conditions.length > maxConditions)
    throw fieldError('invalid_filter', 'filter', `must have at most ${maxConditions} conditions`);
  return conditions;
}

function readValue(name: string, operator: Operator, value: unknown): unknown {
  if (operator === 'exists') {
    if (value === true || value === 'true') return true;
    if (value === false || value === 'false') return false;
    throw fieldError('invalid_filter', name, 'must be true or false');
  }
  if (operator === 'in' || operator === 'nin') {
    if (typeof value === 'string') return value.split(',');
    if (Array.isArray(value)) return value;
    throw fieldError('invalid_filter', name, 'must be a list of values');
  }
  if (value === null || typeof value === 'object') throw fieldError('invalid_filter', name, 'must be one plain value');
  return value;
}

/** Reads `sort=-date,title`. @throws DomainError `invalid_request` */
export function readSort(sort: readonly string[]): SortKey[] {
  if (sort.length > maxSortKeys) throw fieldError('invalid_request', 'sort', `must have at most ${maxSortKeys} fields`);
  return sort.map((text) => {
    const descending = text.startsWith('-');
    const field = descending ? text.slice(1) : text;
    if (field === '') throw fieldError('invalid_request', 'sort', 'must name fields, each with or without a leading -');
    return { field, descending };
  });
}

const ofEntry = new Set(['slug', 'path', 'locale', 'translation_key']);

/** Whether the field can be told from the entry's place alone, without reading its file. */
export const isPlaceField = (field: string) => ofEntry.has(field);

/** The value a filter or sort looks at: the entry's own fields first, then frontmatter by dotted name. */
export function fieldValue({ entry, facts }: KnownEntry, field: string): unknown {
  if (isPlaceField(field)) return entry[field as 'slug'];
  if (field === 'title') return facts.title || titleOfSlug(entry.slug);
  if (field === 'draft') return facts.draft;
  if (field === 'size') return facts.size;
  let value: unknown = facts.frontmatter;
  for (const name of field.split('.')) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

const rank = (value: unknown) =>
  value === undefined || value === null
    ? 4
    : typeof value === 'number'
      ? 0
      : typeof value === 'boolean'
        ? 1
        : typeof value === 'string'
          ? 2
          : 3;

/** Orders values of any kinds: numbers, booleans, texts (by code unit), others; absent ones last. */
export function compareValues(a: unknown, b: unknown): number {
  const kinds = rank(a) - rank(b);
  if (kinds !== 0) return kinds;
  if (rank(a) === 3) return 0;
  return (a as string) < (b as string) ? -1 : (a as string) > (b as string) ? 1 : 0;
}

/** Reads a filter's text as the kind of the value it is compared with. */
function likewise(wanted: unknown, actual: unknown): unknown {
  if (typeof wanted !== 'string') return wanted;
  if (typeof actual === 'number') return wanted.trim() === '' ? wanted : Number(wanted);
  if (typeof actual === 'boolean') return wanted === 'true' ? true : wanted === 'false' ? false : wanted;
  return wanted;
}

const equals = (actual: unknown, wanted: unknown): boolean =>
  Array.isArray(actual) ? actual.some((item) => equals(item, wanted)) : actual === likewise(wanted, actual);

function contains(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(actual)) return actual.some((item) => equals(item, wanted));
  return typeof actual === 'string' && actual.toLowerCase().includes(String(wanted).toLowerCase());
}

function ordered(actual: unknown, wanted: unknown, holds: (order: number) => boolean): boolean {
  if (Array.isArray(actual)) return actual.some((item) => ordered(item, wanted, holds));
  const value = likewise(wanted, actual);
  return (
    rank(actual) < 3 && rank(actual) === rank(value) && !Number.isNaN(value) && holds(compareValues(actual, value))
  );
}

const tests: Record<Operator, (actual: unknown, wanted: unknown) => boolean> = {
  eq: equals,
  ne: (actual, wanted) => !equals(actual, wanted),
  in: (actual, wanted) => (wanted as unknown[]).some((item) => equals(actual, item)),
  nin: (actual, wanted) => !(wanted as unknown[]).some((item) => equals(actual, item)),
  lt: (actual, wanted) => ordered(actual, wanted, (order) => order < 0),
  lte: (actual, wanted) => ordered(actual, wanted, (order) => order <= 0),
  gt: (actual, wanted) => ordered(actual, wanted, (order) => order > 0),
  gte: (actual, wanted) => ordered(actual, wanted, (order) => order >= 0),
  contains,
  exists: (actual, wanted) => (actual !== undefined && actual !== null) === wanted,
};

export const matches = (known: KnownEntry, conditions: readonly Condition[]): boolean =>
  conditions.every(({ field, operator, value }) => tests[operator](fieldValue(known, field), value));

/** Sorts by the keys; equal entries stay in order of their slugs, so that pages never overlap. */
export function sortEntries(entries: readonly KnownEntry[], keys: readonly SortKey[]): KnownEntry[] {
  const decorated = entries.map((known) => ({ known, values: keys.map(({ field }) => fieldValue(known, field)) }));
  decorated.sort((a, b) => {
    for (const [at, { descending }] of keys.entries()) {
      const left = a.values[at];
      const right = b.values[at];
      const order = compareValues(left, right);
      // Absent values come last in both directions.
      if (order !== 0) return descending && rank(left) !== 4 && rank(right) !== 4 ? -order : order;
    }
    return a.known.entry.slug < b.known.entry.slug ? -1 : 1;
  });
  return decorated.map(({ known }) => known);
}
