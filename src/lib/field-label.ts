/** What the fields of an entry are called, from the JSON Schema of its collection. */
import { parsePointer } from './json-pointer.ts';
import { isRecord } from './objects.ts';

type Schema = Readonly<Record<string, unknown>>;

/** `cover_alt` → `Cover alt` */
export function wordsOf(name: string): string {
  const words = name
    .replace(/[_-]+/g, ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

const isIndex = (name: string) => /^(?:0|[1-9]\d*)$/.test(name);

const member = (schema: Schema, keyword: string, name: string): Schema | null => {
  const members = schema[keyword];
  const found = isRecord(members) && Object.hasOwn(members, name) ? members[name] : null;
  return isRecord(found) ? found : null;
};

/** The schema itself with its alternatives, and theirs. */
const kindsOf = (schema: Schema): Schema[] => [
  schema,
  ...(Array.isArray(schema.anyOf) ? schema.anyOf.filter(isRecord).flatMap(kindsOf) : []),
];

/**
 * The label of the value at a JSON Pointer, with those of the objects and lists that hold it: `/author/name` → `Author › Name`,
 * `/links/1/url` → `Links 2 › URL`. A key that the schema does not have is shown in words.
 * @param schema JSON Schema of the entry; anything else has no labels
 */
export function fieldLabel(schema: unknown, pointer: string): string {
  const labels: string[] = [];
  let kinds = isRecord(schema) ? kindsOf(schema) : [];
  for (const name of parsePointer(pointer) ?? [pointer]) {
    const property = kinds.map((kind) => member(kind, 'properties', name)).find((found) => found !== null);
    const items = kinds.map((kind) => kind.items).find(isRecord);
    const last = labels.at(-1);
    if (!property && last !== undefined && isIndex(name)) {
      labels[labels.length - 1] = `${last} ${Number(name) + 1}`;
      kinds = items ? kindsOf(items) : [];
      continue;
    }
    labels.push(typeof property?.title === 'string' ? property.title : wordsOf(name) || name);
    kinds = property ? kindsOf(property) : [];
  }
  return labels.join(' › ');
}
