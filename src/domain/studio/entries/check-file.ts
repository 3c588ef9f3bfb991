import type { StagedContent } from '../changes/staged-content.ts';
import type { CollectionIndex } from '../content/collection-index.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { Warning } from '../schema/schema.schema.ts';
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
