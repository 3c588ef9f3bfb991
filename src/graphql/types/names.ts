/** `created_at` as part of a type's name: `CreatedAt`. */
export const pascal = (name: string) =>
  name.replace(/(?:^|_)([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());

/** `createEntry` of `studio.createEntry`. */
export const verbOf = (operation: { name: string }) => operation.name.slice(operation.name.indexOf('.') + 1);

/** Whether GraphQL takes the text as a name; two underscores in front are its own. */
export const isLegalName = (text: string) => /^(?!__)[_A-Za-z][_0-9A-Za-z]*$/.test(text);

const reserved = new Set(['true', 'false', 'null']);
export const isLegalEnumValue = (text: string) => isLegalName(text) && !reserved.has(text);
