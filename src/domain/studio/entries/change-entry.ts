import type { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import type { StagedContent } from '../changes/staged-content.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import { editFile } from '../frontmatter/edit-file.ts';
import { applyMergePatch } from '../frontmatter/merge-patch.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { FileKind, Frontmatter, FrontmatterFormat } from '../frontmatter/values.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { SchemaField, Warning } from '../schema/schema.schema.ts';
import type { entryChange } from './entries.schema.ts';
import { checkSize } from './saved-entry.ts';
import { validateWrite } from './validate.ts';

/**
 * Holds an entry that a step wrote against its schema, as later steps of the same commit left it; one they took away is their business.
 * @param paths where it is, and where it came from when it was renamed
 * @param bytes what the step wrote
 * @param before what the file held before it; null: there was none
 * @throws DomainError `validation_failed`
 */
export async function checkFile(
  after: StagedContent,
  index: CollectionIndex,
  paths: readonly [string, ...string[]],
  bytes: Buffer,
  before: Buffer | null,
): Promise<Warning[]> {
  const [path] = paths;
  let wanted = bytes;
  if (after.changed.has(path)) {
    const { entry } = await after.tree.lookup(path);
    if (!entry) return [];
    wanted = await after.tree.blob(entry.oid);
  }
  const written = parseFile(wanted, path).frontmatter ?? {};
  const stored = before && parseFile(before, path).frontmatter;
  return validateWrite(after, index, { paths, wanted: written, stored });
}

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

type EntryChange = Pick<z.output<typeof entryChange>, 'frontmatter' | 'body' | 'raw' | 'mode' | 'unset'>;

/**
 * The bytes of a file given as its whole text.
 * @throws DomainError `frontmatter_invalid` when it cannot be read back, `validation_failed` for half a surrogate pair, `too_large`
 */
export function rawBytes(raw: string, path: string): Buffer {
  if (!raw.isWellFormed())
    throw fieldError('validation_failed', 'raw', 'holds half a surrogate pair, which UTF-8 cannot store');
  const bytes = checkSize(Buffer.from(raw, 'utf8'), 'raw');
  const { error } = parseFile(bytes, path);
  if (!error) return bytes;
  const { message, line, column } = error;
  throw new DomainError('frontmatter_invalid', `raw: ${message} (line ${line}, column ${column})`, {
    details: { errors: [{ field: '/raw', code: 'frontmatter_invalid', message, line, column }] },
  });
}

/**
 * The bytes a save wants: the stored file with the change laid over it, or the whole raw text. What a reader was given of a file that
 * cannot be read is no change when it is sent back.
 */
export function newBytes(index: CollectionIndex, place: IndexedEntry, bytes: Buffer, change: EntryChange): Buffer {
  if (change.raw !== undefined) {
    if (change.frontmatter || change.body !== undefined || change.unset) {
      throw fieldError('invalid_request', 'raw', 'excludes frontmatter, body and unset');
    }
    return change.raw === bytes.toString('utf8') ? bytes : rawBytes(change.raw, place.path);
  }
  const editsMetadata = change.frontmatter != null || change.unset !== undefined;
  const stored = parseFile(bytes, place.path);
  if (stored.frontmatter === null && !editsMetadata && (change.body ?? stored.body) === stored.body) return bytes;
  const current = stored.frontmatter ?? {};
  const frontmatter =
    change.mode === 'replace' && change.frontmatter
      ? applyMergePatch(change.frontmatter, {}, change.unset)
      : applyMergePatch(current, change.frontmatter ?? {}, change.unset);
  return editFile(
    bytes,
    place.path,
    { ...(editsMetadata && { frontmatter }), ...(change.body !== undefined && { body: change.body }) },
    { isDate: isDateField(index.schema) },
  ).bytes;
}
