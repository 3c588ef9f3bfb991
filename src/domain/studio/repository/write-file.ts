/**
 * Text files that are neither entries nor media: code, templates, configuration. They are written with manage_studio, as pushes of them are, and by
 * their whole text; a writer names the version that is replaced, so that no one else's is lost. What an endpoint of its own validates is refused
 * here, and so is what a push could not bring in (`receive.fsckObjects`), since objects written here pass no such check.
 */
import { z } from 'zod';
import { fieldError } from '../../../kernel/errors.ts';
import { withoutNul } from '../../../kernel/shapes.ts';
import type { TreeEntry } from '../../../ports/git-records.ts';
import { type PlanContext, publishedVersion, type StagedContent, type Step } from '../changes/staged-content.ts';
import { checkFree, checkVersion } from '../changes/write-rules.ts';
import { isContent, isRegular } from '../content/admission.ts';
import { schemaAt } from '../content/collection-index.ts';
import { checkAddress, checkPath, settingsProblem } from '../path-rules.ts';
import { blobOid } from './refs.ts';

/** Largest text, bytes of UTF-8. */
const maxBytes = 1024 * 1024;

export const fileWrite = {
  path: z.string().describe('Path of a file that is neither an entry nor media'),
  content: z
    .string()
    .regex(withoutNul, 'must not contain NUL')
    .refine((text) => text.isWellFormed(), 'must be well-formed Unicode; it has half of a surrogate pair')
    .describe('The whole text; at most 1 MiB of UTF-8'),
  sha: z.string().optional().describe('Object id of the version it replaces; absent: the file is new'),
};

interface FileWrite {
  path: string;
  content: string;
  sha?: string | undefined;
}

/** @throws DomainError `not_editable` for what has an operation that validates it: all that may be written without manage_studio */
function checkHasNoOperation({ site }: StagedContent, path: string, mode: string): void {
  if (!isRegular(mode)) throw fieldError('not_editable', 'path', `${path} is a symlink or submodule`);
  if (schemaAt(site, path)) throw fieldError('not_editable', 'path', `${path} is an entry; write it as one`);
  if (isContent(site, path, mode)) throw fieldError('not_editable', 'path', `${path} is a file of media; upload it`);
}

/** The stored file that is replaced; null where the write makes one. */
async function replacedFile(
  staged: StagedContent,
  { path, sha }: FileWrite,
): Promise<{ path: string; stored: TreeEntry | null }> {
  const { entry, blocked } = await staged.tree.lookup(checkAddress('path', path));
  if (blocked)
    throw fieldError('not_editable', 'path', `${blocked} is a symlink or submodule and is never written through`);
  if (entry?.mode === '40000') throw fieldError('already_exists', 'path', `${path} is a directory`);
  if (entry) return { path, stored: entry };
  if (sha !== undefined && !staged.changed.has(path))
    throw fieldError('sha_mismatch', 'sha', 'the file has been deleted since it was read');
  const fresh = checkPath('path', path);
  await checkFree(staged.tree, fresh, 'path');
  return { path: fresh, stored: null };
}

/**
 * Plans a text as the content of a file. A file that is there keeps its mode.
 * @throws DomainError `forbidden` without manage_studio, `too_large`, `invalid_path`, `invalid_name`, `name_collision`, `not_editable` for entries,
 * media and what lies behind links, `already_exists` for a file whose version is not named, `sha_mismatch` for another version
 */
export async function planWriteFile(
  context: PlanContext,
  staged: StagedContent,
  write: FileWrite,
): Promise<Step<{ path: string }>> {
  context.require('manage_studio');
  const { sha } = write;
  const bytes = Buffer.from(write.content);
  if (bytes.length > maxBytes) throw fieldError('too_large', 'content', `must be at most ${maxBytes} bytes`);
  const { path, stored } = await replacedFile(staged, write);
  checkHasNoOperation(staged, path, stored?.mode ?? '100644');
  const refused = settingsProblem(path, bytes);
  if (refused) throw fieldError('not_editable', refused.of, refused.problem);
  if (stored) {
    // What an action before this one wrote has a version that its caller cannot know.
    if (sha === undefined && !staged.changed.has(path))
      throw fieldError('already_exists', 'path', `${path} exists; sha must name the version that is replaced`);
    checkVersion(await publishedVersion(staged, path, stored), {}, sha);
  }
  const isSame = stored !== null && blobOid(bytes, stored.oid) === stored.oid;
  return {
    changes: isSame ? [] : [{ path, content: bytes }],
    summary: `${stored ? 'Update' : 'Create'} ${path}`,
    result: { path },
    check: async () => [],
  };
}
