import { DomainError } from '../../../kernel/errors.ts';
import { counted } from '../../../lib/text.ts';
import { type PlanContext, publishedVersion, type StagedContent, type Step } from '../changes/staged-content.ts';
import { checkVersion } from '../changes/write-rules.ts';
import { storedEntry } from '../content/collection-index.ts';
import { checkPrecondition } from '../repository/branch-rules.ts';
import { namedIn, referencesTo } from './references.ts';

interface EntryDeletion {
  collection: string;
  /** Slug of the entry. */
  entry: string;
  sha?: string | undefined;
  force?: boolean | undefined;
}

/**
 * Plans the deletion of an entry.
 * @throws DomainError `not_found`, `precondition_failed`, `sha_mismatch`; its check `in_use` where entries that are left require it
 */
export async function planDelete(
  context: PlanContext,
  staged: StagedContent,
  { collection, entry, sha, force }: EntryDeletion,
): Promise<Step<{ path: string }>> {
  const { path } = storedEntry(staged.site.collection(collection), entry);
  if (!staged.changed.has(path)) checkPrecondition(context.project, context.conditions, sha);
  const { entry: stored } = await staged.tree.lookup(path);
  if (stored) checkVersion(await publishedVersion(staged, path, stored), context.conditions.if_match, sha);
  const target = namedIn(staged.site, { collection, slug: entry });
  return {
    changes: [{ path, content: null }],
    summary: `Delete ${collection}/${entry}`,
    result: { path },
    async check(after) {
      const isThereAgain = after.changed.has(path) && after.site.collection(collection).find(entry) !== undefined;
      if (force || isThereAgain) return [];
      const references = await referencesTo(context, after, target);
      const required = references.filter((reference) => reference.required && reference.path !== path);
      if (required.length === 0) return [];
      throw new DomainError(
        'in_use',
        `${collection}/${entry} is required by ${counted(required.length, 'entry', 'entries')}; change them first, or use force`,
        { details: { references: required.slice(0, 100) } },
      );
    },
  };
}
