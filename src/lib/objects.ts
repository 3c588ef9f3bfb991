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
 * Whether the JSON of an object is surely longer than so many bytes, seen before it is made and without looking further than that: each value takes
 * two of them beside its text and its key, and more where it is indented.
 */
export function isLonger(object: object, bytes: number, indentation = 0): boolean {
  let size = 0;
  const left = [{ container: object, level: 1 }];
  for (let next = left.pop(); next; next = left.pop()) {
    const { container, level } = next;
    for (const [key, value] of membersOf(container)) {
      size += indentation * level + 2 + key.length + (typeof value === 'string' ? value.length : 0);
      if (size > bytes) return true;
      if (typeof value === 'object' && value !== null) left.push({ container: value, level: level + 1 });
    }
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
