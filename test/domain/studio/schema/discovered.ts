import type { Discovery } from '../../../../src/domain/studio/schema/collection-schema.ts';
import { validateEntry } from '../../../../src/domain/studio/schema/validate.ts';

/** A collection that was found. */
export const named = (found: Discovery, name: string) => {
  const schema = found.schemas.find((one) => one.collection === name);
  if (!schema) throw new Error(`no ${name} in ${found.schemas.map((one) => one.collection)}`);
  return schema;
};

/** Its fields, each as type, `[]` for a list, `!` where it is required. */
export const shape = (found: Discovery, name: string) =>
  Object.fromEntries(
    named(found, name).fields.map((one) => [one.name, `${one.type}${one.list ? '[]' : ''}${one.required ? '!' : ''}`]),
  );

/** What is wrong with an entry of it, as pointer and code. */
export const faults = async (found: Discovery, name: string, entry: object) =>
  (await validateEntry(named(found, name), entry)).errors.map((one) => `${one.field} ${one.code}`);
