import { DomainError } from '../../../kernel/errors.ts';
import { counted } from '../../../lib/text.ts';
import { type PlanContext, publishedVersion, type StagedContent, type Step } from '../changes/staged-content.ts';
import { checkVersion } from '../changes/write-rules.ts';
import { isContent } from '../content/admission.ts';
import { schemaAt } from '../content/collection-index.ts';
import { checkAddress, checkStoredPath } from '../path-rules.ts';
import { checkPrecondition } from '../repository/branch-rules.ts';
import { mediaRootOf } from './media-facts.ts';

interface MediaDeletion {
  path: string;
  sha?: string | undefined;
  force?: boolean | undefined;
}

/**
 * Plans the deletion of a file.
 * @param field of the input that names the file
 * @throws DomainError `not_found`, `not_editable` for an entry or what lies behind a link, `forbidden` outside the media roots,
 * `precondition_failed`, `sha_mismatch`; its check `in_use` where entries that are left name it
 */
export async function planDeleteMedia(
  context: PlanContext,
  staged: StagedContent,
  { path, sha, force }: MediaDeletion,
  field = 'path',
): Promise<Step<{ path: string }>> {
  checkAddress(field, path);
  if (!staged.changed.has(path)) checkPrecondition(context.project, context.conditions, sha);
  const { entry, blocked } = await staged.tree.lookup(path);
  if (blocked) throw new DomainError('not_editable', `${field}: ${blocked} is a symlink or submodule`);
  if (!entry || entry.mode === '40000' || entry.mode === '160000') {
    checkStoredPath(field, path);
    throw new DomainError('not_found', `${field}: ${path} is not a file`);
  }
  const isMedia = mediaRootOf(staged.site, path) !== null && isContent(staged.site, path, entry.mode);
  if (!isMedia) context.require('manage_studio');
  if (schemaAt(staged.site, path)) {
    throw new DomainError('not_editable', `${field}: ${path} is an entry; delete it as one`);
  }
  checkVersion(await publishedVersion(staged, path, entry), context.conditions.if_match, sha);
  return {
    changes: [{ path, content: null }],
    summary: `Delete ${path}`,
    result: { path },
    async check(after) {
      const isThereAgain = after.changed.has(path) && (await after.tree.lookup(path)).entry !== null;
      if (force || isThereAgain) return [];
      const references = await after.mediaReferences(path);
      if (references.length === 0) return [];
      throw new DomainError(
        'in_use',
        `${path} is named by ${counted(references.length, 'entry', 'entries')}; change them first, or use force`,
        { details: { references: references.slice(0, 100) } },
      );
    },
  };
}
