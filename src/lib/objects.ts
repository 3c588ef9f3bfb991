/** Whether a value is an object with members: neither null nor a list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The same object with some of its methods replaced; it may have private fields, which an object made of it would lack. */
export function replacing<T extends object>(object: T, own: Partial<T>): T {
  return new Proxy(object, {
    get(target, key) {
      const value = Reflect.get(own, key) ?? Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A copy without the keys whose value is undefined: what a caller left out must not overwrite what is stored. */
export function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as never;
}

/** The members of an object or the items of a list, which have no key of their own. */
export function* membersOf(container: object): Generator<[key: string, value: unknown]> {
  if (Array.isArray(container)) for (const item of container) yield ['', item];
  else for (const key of Object.keys(container)) yield [key, (container as Record<string, unknown>)[key]];
}

/**
 * How many bytes the JSON of an object has at least, seen before it is made: each value takes two of them beside its text and its key, and more where
 * it is indented.
 * @param most an object of more is not looked at further than that
 */
export function leastJson(object: object, most: number, indentation = 0): number {
  let size = 0;
  const left = [object];
  const levels = [1];
  // Without generators, which take a hundred times as long for many small lists.
  for (let container = left.pop(); container; container = left.pop()) {
    const level = levels.pop() ?? 1;
    const each = indentation * level + 2;
    const keys = Array.isArray(container) ? null : Object.keys(container);
    const count = keys?.length ?? (container as unknown[]).length;
    for (let at = 0; at < count; at += 1) {
      const key = keys?.[at];
      const value = (container as Record<string | number, unknown>)[key ?? at];
      size += each + (key?.length ?? 0) + (typeof value === 'string' ? value.length : 0);
      if (size > most) return size;
      if (typeof value !== 'object' || value === null) continue;
      left.push(value);
      levels.push(level + 1);
    }
  }
  return size;
}

/** Whether the JSON of an object is surely longer than so many bytes. */
export const isLonger = (object: object, bytes: number, indentation = 0): boolean =>
  leastJson(object, bytes, indentation) > bytes;

/** Whether an object has more than so many values in it, at any depth. */
export function hasMoreValues(object: object, most: number): boolean {
  let count = 0;
  const left = [object];
  for (let container = left.pop(); container; container = left.pop()) {
    const values = Array.isArray(container) ? container : Object.values(container);
    count += values.length;
    if (count > most) return true;
    for (const value of values) if (typeof value === 'object' && value !== null) left.push(value);
  }
  return false;
}

/** JSON of a value with the keys of its objects in order: the same text for the same value, however it was written. */
export function stableJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableJson).join()}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${stableJson(value[name])}`).join()}}`;
}
