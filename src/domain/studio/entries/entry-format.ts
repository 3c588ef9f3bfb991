import type { FileKind, Frontmatter, FrontmatterFormat } from '../frontmatter/types.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { SchemaField } from '../schema/schema.schema.ts';

const dataFormats: Record<string, FrontmatterFormat> = { yml: 'yaml', yaml: 'yaml', json: 'json', toml: 'toml' };

/** How a new file at a path is written: data files by their extension, content files in the language asked for or the collection's own. */
export function formatOf(
  schema: CollectionSchema,
  path: string,
  asked: string | undefined,
): { kind: FileKind; format: FrontmatterFormat } {
  const data = dataFormats[path.slice(path.lastIndexOf('.') + 1).toLowerCase()];
  if (data) return { kind: 'data', format: data };
  const wanted = asked && ['yaml', 'toml', 'json'].includes(asked) ? (asked as FrontmatterFormat) : schema.format;
  return { kind: 'content', format: wanted };
}

/** The schema's defaults, for a caller who wants them written. */
export function defaultsOf(schema: CollectionSchema): Frontmatter {
  return Object.fromEntries(
    schema.fields.flatMap((field) => (field.default === undefined ? [] : [[field.name, field.default]])),
  );
}

function fieldAt(fields: readonly SchemaField[], names: readonly string[]): SchemaField | undefined {
  const [name, ...rest] = names.filter((part) => !/^\d+$/.test(part));
  const field = fields.find((item) => item.name === name);
  return rest.length === 0 || !field ? field : fieldAt(field.fields ?? [], rest);
}

/** Which values of a collection are dates and so stand without quotes. */
export function isDateField(schema: CollectionSchema): (pointer: string) => boolean {
  return (pointer) => {
    const type = fieldAt(schema.fields, pointer.split('/').slice(1))?.type;
    return type === 'date' || type === 'datetime';
  };
}
