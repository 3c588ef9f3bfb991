import type { z } from 'zod';
import { DomainError, fieldError } from '../../../../kernel/errors.ts';
import type { Oid } from '../../../../ports/git-records.ts';
import type { StagedContent, Step } from '../../changes/staged-content.ts';
import type { CollectionIndex, IndexedEntry } from '../../content/collection-index.ts';
import { editOpened } from '../../frontmatter/edit-file.ts';
import { applyMergePatch } from '../../frontmatter/merge-patch.ts';
import { type FileContent, type OpenedFile, parseFile } from '../../frontmatter/parse-file.ts';
import type { FileKind, Frontmatter, FrontmatterFormat } from '../../frontmatter/values.ts';
import type { CollectionSchema } from '../../schema/collection-schema.ts';
import type { SchemaField, Warning } from '../../schema/schema.schema.ts';
import type { entryChange } from '../entries.schema.ts';
import { checkSize } from '../saved-entry.ts';
import { validateWrite } from '../validate.ts';

type Check = Step<unknown>['check'];

/**
 * Checks an entry that a step wrote against its schema, as later steps of the same commit left it; one they took away is their business.
 * @param paths where it is, and where it came from when it was renamed
 * @param content what the step wrote
 * @param before what the file held before it; null: there was none
 * @throws DomainError `validation_failed`
 */
async function checkFile(
  after: StagedContent,
  index: CollectionIndex,
  paths: readonly [string, ...string[]],
  content: FileContent,
  before: FileContent | null,
): Promise<Warning[]> {
  const [path] = paths;
  let { parsed } = content;
  if (after.changed.has(path)) {
    const { entry } = await after.tree.lookup(path);
    if (!entry) return [];
    const bytes = await after.tree.blob(entry.oid);
    if (!bytes.equals(content.bytes)) parsed = parseFile(bytes, path);
  }
  return validateWrite(after, index, {
    paths,
    wanted: parsed.frontmatter ?? {},
    stored: before?.parsed.frontmatter ?? null,
  });
}

type CheckedPaths = Parameters<typeof checkFile>[2];

/** The check of what a step wrote. */
export const checkOfHeld =
  (index: CollectionIndex, paths: CheckedPaths, content: FileContent, before: FileContent | null): Check =>
  (after) =>
    checkFile(after, index, paths, content, before);

/** The same of long texts, which are read again for it: of a hundred steps they would be gigabytes until then. */
export function checkOfStored(
  { tree, contents }: StagedContent,
  index: CollectionIndex,
  paths: CheckedPaths,
  { written, before }: { written: Oid; before: Oid },
): Check {
  const read = async (oid: Oid) => {
    const bytes = await tree.blob(oid);
    return { bytes, parsed: parseFile(bytes, paths[0]) };
  };
  return (after) =>
    contents.inTurn(async () => checkFile(after, index, paths, await read(written), await read(before)));
}

const dataFormats: Record<string, FrontmatterFormat> = { yml: 'yaml', yaml: 'yaml', json: 'json', toml: 'toml' };

/** How a new file at a path is written: data files by their extension, content files in the requested format or the collection's own. */
export function formatOf(
  schema: CollectionSchema,
  path: string,
  requested: string | undefined,
): { kind: FileKind; format: FrontmatterFormat } {
  const data = dataFormats[path.slice(path.lastIndexOf('.') + 1).toLowerCase()];
  if (data) return { kind: 'data', format: data };
  const wanted =
    requested && ['yaml', 'toml', 'json'].includes(requested) ? (requested as FrontmatterFormat) : schema.format;
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
 * A file given as its whole text; a data file may be a list, which has no fields to be edited by.
 * @throws DomainError `frontmatter_invalid` when it cannot be read back, `validation_failed` for half a surrogate pair, `too_large`
 */
export function rawContent(raw: string, path: string): FileContent {
  if (!raw.isWellFormed())
    throw fieldError('validation_failed', 'raw', 'holds half a surrogate pair, which UTF-8 cannot store');
  const bytes = checkSize(Buffer.from(raw, 'utf8'), 'raw');
  const parsed = parseFile(bytes, path);
  if (!parsed.error || (parsed.kind === 'data' && parsed.hasNoFields)) return { bytes, parsed };
  const { message, line, column } = parsed.error;
  throw new DomainError('frontmatter_invalid', `raw: ${message} (line ${line}, column ${column})`, {
    details: { errors: [{ field: '/raw', code: 'frontmatter_invalid', message, line, column }] },
  });
}

/**
 * What a save leaves behind: the stored file with the change laid over it, or the whole raw text. What a reader was given of a file that
 * cannot be read is no change when it is sent back.
 */
export function newContent(
  index: CollectionIndex,
  place: IndexedEntry,
  stored: OpenedFile,
  change: EntryChange,
): FileContent {
  if (change.raw !== undefined) {
    if (change.frontmatter || change.body !== undefined || change.unset) {
      throw fieldError('invalid_request', 'raw', 'excludes frontmatter, body and unset');
    }
    return change.raw === stored.bytes.toString('utf8') ? stored : rawContent(change.raw, place.path);
  }
  const { parsed } = stored;
  const editsMetadata = change.frontmatter != null || change.unset !== undefined;
  if (parsed.frontmatter === null && !editsMetadata && (change.body ?? parsed.body) === parsed.body) return stored;
  const current = parsed.frontmatter ?? {};
  const frontmatter =
    change.mode === 'replace' && change.frontmatter
      ? applyMergePatch(change.frontmatter, {}, change.unset)
      : applyMergePatch(current, change.frontmatter ?? {}, change.unset);
  return editOpened(
    stored,
    place.path,
    { ...(editsMetadata && { frontmatter }), ...(change.body !== undefined && { body: change.body }) },
    { isDate: isDateField(index.schema) },
  );
}
