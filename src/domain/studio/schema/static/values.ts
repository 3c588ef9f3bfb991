import type { FunctionNode } from './syntax.ts';

/** Where in the site's code something stands; `line` counts from 1. */
export interface Place {
  path: string;
  line: number;
}

/** A name's meaning inside one module or function; null: the name is not bound here. */
export type Scope = (name: string) => Value | null;

export type Scalar = string | number | boolean | bigint | null | undefined;

/**
 * What a piece of code comes to without running it. `external`, `member` and `call` stay symbolic: the evaluator knows no
 * library, the reader of the value does. `unknown` says why, and where.
 */
export type Value =
  | { kind: 'scalar'; value: Scalar }
  | { kind: 'pattern'; source: string; flags: string }
  | { kind: 'list'; items: readonly Value[]; place: Place }
  | RecordValue
  | { kind: 'closure'; node: FunctionNode; scope: Scope; place: Place }
  | { kind: 'external'; module: string; name: string }
  | { kind: 'member'; object: Value; property: string; place: Place }
  | { kind: 'call'; callee: Value; args: readonly Value[]; place: Place }
  | Unknown;

/** Keys in order of writing; a null key is a spread that could not be resolved. */
export interface RecordValue {
  kind: 'record';
  parts: readonly (readonly [string | null, Value])[];
  place: Place;
}

interface Unknown {
  kind: 'unknown';
  reason: string;
  place: Place;
}

export const scalar = (value: Scalar): Value => ({ kind: 'scalar', value });
export const unknown = (reason: string, place: Place): Unknown => ({ kind: 'unknown', reason, place });

/** The value of a key, undefined when certainly absent, an unknown when a spread may have set it. */
export function property(record: RecordValue, key: string): Value | undefined {
  for (let at = record.parts.length - 1; at >= 0; at--) {
    const [name, value] = record.parts[at] ?? [null, undefined];
    if (name === key) return value;
    if (name === null && value)
      return value.kind === 'unknown' ? value : unknown('a spread hides the key', record.place);
  }
  return undefined;
}

/** Text of a scalar string; undefined for anything else. */
export const textOf = (value: Value | undefined): string | undefined =>
  value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined;

/** Where a value was written, if it has a place of its own. */
export const placeOf = (value: Value, otherwise: Place): Place => ('place' in value ? value.place : otherwise);

const MAX_PLAIN = 10_000;

/** The JSON-like data a value stands for; undefined when any part is not plain data (or there is too much of it). */
export function plain(value: Value, budget = { left: MAX_PLAIN }): unknown {
  if (--budget.left < 0) return undefined;
  if (value.kind === 'scalar') return typeof value.value === 'bigint' ? undefined : value.value;
  if (value.kind === 'list') {
    const items = value.items.map((item) => plain(item, budget));
    return items.includes(undefined) ? undefined : items;
  }
  if (value.kind !== 'record') return undefined;
  const entries = value.parts.map(([key, part]) => [key, plain(part, budget)] as const);
  if (entries.some(([key, part]) => key === null || part === undefined)) return undefined;
  // fromEntries defines own properties, so a key `__proto__` stays data.
  return Object.fromEntries(entries);
}

/** Levels of imported data that are looked at. */
const MAX_LEVELS = 64;

/** Plain data as a value, for imported JSON. */
export function fromPlain(data: unknown, place: Place, level = 0): Value {
  if (typeof data !== 'object' || data === null) return scalar(data as Scalar);
  if (level === MAX_LEVELS) return unknown('the file is nested too deeply', place);
  const below = (item: unknown) => fromPlain(item, place, level + 1);
  if (Array.isArray(data)) return { kind: 'list', items: data.map(below), place };
  return { kind: 'record', parts: Object.entries(data).map(([key, item]) => [key, below(item)]), place };
}

/** The value at a path of keys through records; undefined when any of them is missing. */
export function at(value: Value | undefined, ...keys: string[]): Value | undefined {
  let current = value;
  for (const key of keys) current = current?.kind === 'record' ? property(current, key) : undefined;
  return current;
}

export const textAt = (value: Value | undefined, ...keys: string[]) => textOf(at(value, ...keys));

export const itemsOf = (value: Value | undefined): readonly Value[] => (value?.kind === 'list' ? value.items : []);

/** Keys and values of a record, the last of equal keys only; keys that are not known are left out. */
export function entriesOf(value: Value | undefined): [string, Value][] {
  if (value?.kind !== 'record') return [];
  const entries = new Map<string, Value>();
  for (const [key, part] of value.parts) if (key !== null) entries.set(key, part);
  return [...entries];
}

export const numberOf = (value: Value | undefined): number | undefined =>
  value?.kind === 'scalar' && typeof value.value === 'number' && Number.isFinite(value.value) ? value.value : undefined;

/** A whole number of at least 0, as lengths and counts are. */
export function countOf(value: Value | undefined): number | undefined {
  const number = numberOf(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

export const isTrue = (value: Value | undefined) => value?.kind === 'scalar' && value.value === true;
export const isFalse = (value: Value | undefined) => value?.kind === 'scalar' && value.value === false;

/** The texts of one text or of a list of texts; others are left out. */
export const textsOf = (value: Value | undefined): string[] =>
  (value?.kind === 'list' ? value.items : [value]).map(textOf).filter((text) => text !== undefined);

/** JSON-like data of a value; undefined when it is none, or null. */
export const dataOf = (value: Value | undefined): unknown =>
  value === undefined ? undefined : (plain(value) ?? undefined);
