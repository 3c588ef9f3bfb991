import type { z } from 'zod';
import { DomainError, fieldError } from '../../errors.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import { editFile } from '../frontmatter/edit-file.ts';
import { applyMergePatch } from '../frontmatter/merge-patch.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { entryChange } from './entries.schema.ts';
import { isDateField } from './entry-format.ts';

type EntryChange = Pick<z.output<typeof entryChange>, 'frontmatter' | 'body' | 'raw' | 'mode' | 'unset'>;

/** The bytes a save wants: the stored file with the change laid over it, or the whole raw text. */
export function newBytes(index: CollectionIndex, place: IndexedEntry, bytes: Buffer, change: EntryChange): Buffer {
  if (change.raw !== undefined) {
    if (change.frontmatter || change.body !== undefined || change.unset) {
      throw fieldError('invalid_request', 'raw', 'excludes frontmatter, body and unset');
    }
    const raw = Buffer.from(change.raw, 'utf8');
    const { error } = parseFile(raw, place.path);
    if (error) {
      const { message, line, column } = error;
      throw new DomainError('frontmatter_invalid', `raw: ${message} (line ${line}, column ${column})`, {
        details: { errors: [{ field: '/raw', code: 'frontmatter_invalid', message, line, column }] },
      });
    }
    return raw;
  }
  const editsMetadata = change.frontmatter !== undefined || change.unset !== undefined;
  const stored = parseFile(bytes, place.path);
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
