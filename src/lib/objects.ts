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
