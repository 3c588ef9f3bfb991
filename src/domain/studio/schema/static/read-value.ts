import { plain, property, textOf, type Value } from './values.ts';

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
