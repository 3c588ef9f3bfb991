/** Values as JSON has them, compared, and changed by JSON Pointer (RFC 6901). `undefined` is a value that is not there. */
import { parsePointer } from '../../lib/json-pointer.ts';

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether two values are equal; the order of keys does not count. */
export function same(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => same(item, other[at]));
  if (!isFields(one) || !isFields(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]))
  );
}

/** @returns `root` with the value at a pointer, its other parts shared; objects on the way are made, `undefined` removes the key, and empties an item of a list */
export function withValue<Root>(root: Root, pointer: string, value: unknown): Root {
  const set = (parent: unknown, [key, ...rest]: string[]): unknown => {
    if (key === undefined) return value;
    if (Array.isArray(parent))
      return parent.map((item, index) => (index === Number(key) ? (set(item, rest) ?? '') : item));
    const before = isFields(parent) ? parent : {};
    const next = set(Object.hasOwn(before, key) ? before[key] : undefined, rest);
    if (next === undefined) return Object.fromEntries(Object.entries(before).filter(([name]) => name !== key));
    // fromEntries makes own properties, so that a key `__proto__` is one like any other.
    return Object.hasOwn(before, key)
      ? Object.fromEntries(Object.entries(before).map(([name, old]) => [name, name === key ? next : old]))
      : Object.fromEntries([...Object.entries(before), [key, next]]);
  };
  return set(root, parsePointer(pointer) ?? []) as Root;
}
