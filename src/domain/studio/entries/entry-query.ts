import { fieldError } from '../../../kernel/errors.ts';
import { isLonger, isRecord } from '../../../lib/objects.ts';
import type { IndexedEntry } from '../content/collection-index.ts';
import type { EntryFacts } from '../content/entry-facts.ts';
import { titleOfSlug } from '../frontmatter/summarize.ts';
import { timeOf } from '../schema/dates.ts';
import type { SchemaField } from '../schema/schema.schema.ts';

export const filterOperators = ['eq', 'ne', 'in', 'nin', 'lt', 'lte', 'gt', 'gte', 'contains', 'exists'] as const;
type Operator = (typeof filterOperators)[number];

export interface Condition {
  field: string;
  operator: Operator;
  value: unknown;
  /** The field holds dates, which are compared as instants. */
  isTime?: boolean;
}

export interface SortKey {
  field: string;
  descending: boolean;
  /** The field holds dates, which are ordered as instants. */
  isTime?: boolean;
}

/** The key of lists for when an entry was last committed: no field begins with `@`. */
export const updatedKey = '@updated';

/** An entry with what its file says. */
export interface KnownEntry {
  entry: IndexedEntry;
  facts: EntryFacts;
  /** When it was last committed, where the list is in that order. */
  updated?: number;
}

/** Whether a schema says that the field of this dotted name holds dates, with or without times. */
export function isTimeField(fields: readonly SchemaField[], name: string): boolean {
  let found: SchemaField[] = [];
  let inside = fields;
  for (const part of name.split('.')) {
    found = inside.filter((field) => field.name === part).flatMap((field) => [field, ...(field.variants ?? [])]);
    inside = found.flatMap((field) => field.fields ?? []);
  }
  return found.some(({ type }) => type === 'date' || type === 'datetime');
}

/** A value of a field of dates as it is compared: dates in whatever form as their instants, other values as they are. */
export function asTime(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asTime);
  return typeof value === 'string' ? (timeOf(value) ?? value) : value;
}

const maxConditions = 20;
/** Of its JSON: as much as an address holds. A filter is tried on every entry, and is part of what its order is kept by. */
const maxBytes = 16 * 1024;
/** Characters that are looked for in a text. The engine looks for longer ones in a time that grows with both lengths multiplied. */
const maxPart = 250;

/**
 * Reads `filter[<field>][<op>]=value`.
 * @throws DomainError `invalid_filter` naming what is wrong.
 */
export function readFilter(filter: Record<string, unknown>): Condition[] {
  if (isLonger(filter, maxBytes))
    throw fieldError('invalid_filter', 'filter', `must have at most ${maxBytes / 1024} KiB`);
  const conditions: Condition[] = [];
  for (const [field, tests] of Object.entries(filter)) {
    const name = `filter.${field}`;
    if (!isRecord(tests)) {
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

/** A value as it is looked for in texts, in letters of either case. */
const partOf = (value: unknown): string => String(value).toLowerCase();

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
  if (operator === 'contains' && partOf(value).length > maxPart)
    throw fieldError('invalid_filter', name, `must be at most ${maxPart} characters; look for fewer of them`);
  return value;
}

/** Reads `sort=-date,title`. @throws DomainError `invalid_request` */
export function readSort(sort: readonly string[]): SortKey[] {
  return sort.map((text) => {
    const descending = text.startsWith('-');
    const field = descending ? text.slice(1) : text;
    if (field === '') throw fieldError('invalid_request', 'sort', 'must name fields, each with or without a leading -');
    return { field, descending };
  });
}

const ofEntry = new Set(['slug', 'path', 'locale', 'translation_key']);

/** Whether the field follows from the entry's place alone, without reading its file. */
export const isPlaceField = (field: string) => ofEntry.has(field);

/** The value a filter or sort looks at: the entry's own fields first, then frontmatter by dotted name. */
export function fieldValue({ entry, facts, updated }: KnownEntry, field: string): unknown {
  if (isPlaceField(field)) return entry[field as 'slug'];
  if (field === updatedKey) return updated;
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

/** The rank of absent values, the highest. */
export const absent = 4;
/** Of values that cannot be compared with one another, such as lists. */
export const incomparable = 3;

/** Values of different kinds are ordered by their kinds: numbers, booleans, texts, others, absent ones. */
export function rankOf(value: unknown): number {
  if (typeof value === 'string') return 2;
  if (typeof value === 'number') return 0;
  if (value === undefined || value === null) return absent;
  return typeof value === 'boolean' ? 1 : incomparable;
}

/** Reads a filter's text as the kind of the value it is compared with. */
function likewise(wanted: unknown, actual: unknown): unknown {
  if (typeof wanted !== 'string') return wanted;
  if (typeof actual === 'number') return wanted.trim() === '' ? wanted : Number(wanted);
  if (typeof actual === 'boolean') return wanted === 'true' ? true : wanted === 'false' ? false : wanted;
  return wanted;
}

/** What a condition wants, read once as each kind of value it is compared with: it may be long, and so may lists. */
class Wanted {
  readonly #value: unknown;
  readonly #read = new Map<string, unknown>();

  constructor(value: unknown) {
    this.#value = value;
  }

  /** As values of a kind are compared with it. */
  like(actual: unknown): unknown {
    return this.#once(typeof actual, () => likewise(this.#value, actual));
  }

  /** The same for each of a list that is wanted. */
  anyLike(actual: unknown): ReadonlySet<unknown> {
    return this.#once(
      `any ${typeof actual}`,
      () => new Set((this.#value as readonly unknown[]).map((item) => likewise(item, actual))),
    );
  }

  /** As a part of texts, in lower case. */
  get part(): string {
    return this.#once('part', () => partOf(this.#value));
  }

  /** Whether it is the value itself that is wanted. */
  is(value: unknown): boolean {
    return this.#value === value;
  }

  #once<T>(kind: string, read: () => T): T {
    if (!this.#read.has(kind)) this.#read.set(kind, read());
    return this.#read.get(kind) as T;
  }
}

const wantedBy = new WeakMap<Condition, Wanted>();

function wantedOf(condition: Condition): Wanted {
  const wanted = wantedBy.get(condition) ?? new Wanted(condition.value);
  wantedBy.set(condition, wanted);
  return wanted;
}

const equals = (actual: unknown, wanted: Wanted): boolean =>
  Array.isArray(actual) ? actual.some((item) => equals(item, wanted)) : actual === wanted.like(actual);

/** Whether a value, or one of a list, is one of those wanted: both may be tens of thousands. */
function isAmong(actual: unknown, wanted: Wanted): boolean {
  if (Array.isArray(actual)) return actual.some((item) => isAmong(item, wanted));
  // A set has NaN, which is what a text that is no number comes to.
  return !Number.isNaN(actual) && wanted.anyLike(actual).has(actual);
}

function contains(actual: unknown, wanted: Wanted): boolean {
  if (Array.isArray(actual)) return equals(actual, wanted);
  return typeof actual === 'string' && actual.toLowerCase().includes(wanted.part);
}

function ordered(actual: unknown, wanted: Wanted, holds: (order: number) => boolean): boolean {
  if (Array.isArray(actual)) return actual.some((item) => ordered(item, wanted, holds));
  const value = wanted.like(actual);
  if (rankOf(actual) >= incomparable || rankOf(actual) !== rankOf(value) || Number.isNaN(value)) return false;
  const [left, right] = [actual, value] as [string, string];
  return holds(left < right ? -1 : left > right ? 1 : 0);
}

const tests: Record<Operator, (actual: unknown, wanted: Wanted) => boolean> = {
  eq: equals,
  ne: (actual, wanted) => !equals(actual, wanted),
  in: isAmong,
  nin: (actual, wanted) => !isAmong(actual, wanted),
  lt: (actual, wanted) => ordered(actual, wanted, (order) => order < 0),
  lte: (actual, wanted) => ordered(actual, wanted, (order) => order <= 0),
  gt: (actual, wanted) => ordered(actual, wanted, (order) => order > 0),
  gte: (actual, wanted) => ordered(actual, wanted, (order) => order >= 0),
  contains,
  exists: (actual, wanted) => wanted.is(actual !== undefined && actual !== null),
};

export const matches = (known: KnownEntry, conditions: readonly Condition[]): boolean =>
  conditions.every((condition) => {
    const actual = fieldValue(known, condition.field);
    return tests[condition.operator](condition.isTime ? asTime(actual) : actual, wantedOf(condition));
  });
