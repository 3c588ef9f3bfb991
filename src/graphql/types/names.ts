const taken = new Set<string>();

/**
 * Reserves a type name: GraphQL has one space of names for all types.
 * @throws Error when another schema has it; one of the two needs its own `.meta({id})`.
 */
export function claimName(name: string): string {
  if (taken.has(name)) throw new Error(`Two schemas give the GraphQL type ${name}; name one by .meta({id})`);
  taken.add(name);
  return name;
}

/** `created_at` as part of a type's name: `CreatedAt`. */
export const pascal = (name: string) =>
  name.replace(/(?:^|_)([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());

/** `createEntry` of `studio.createEntry`. */
export const verbOf = (operation: { name: string }) => operation.name.slice(operation.name.indexOf('.') + 1);

/** Whether GraphQL takes the text as a name; two underscores in front are its own. */
export const isLegalName = (text: string) => /^(?!__)[_A-Za-z][_0-9A-Za-z]*$/.test(text);

const reserved = new Set(['true', 'false', 'null']);
export const isLegalEnumValue = (text: string) => isLegalName(text) && !reserved.has(text);
