import type { z } from 'zod';
import { DomainError, fieldError } from '../../errors.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import { editFile } from '../frontmatter/edit-file.ts';
import { applyMergePatch } from '../frontmatter/merge-patch.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { entryChange } from './entries.schema.ts';
import { isDateField } from './entry-format.ts';
import { checkSize } from './saved-entry.ts';

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
