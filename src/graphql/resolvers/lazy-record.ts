import type { z } from 'zod';

/**
 * A record that is read when one of its fields is selected: fields below it may be open to callers who may not read the record itself.
 */
export function lazyRecord(shape: z.ZodObject, load: () => Promise<object>): object {
  const field = (name: string) => async () => (await load())[name as never];
  return Object.fromEntries(Object.keys(shape.shape).map((name) => [name, field(name)]));
}
