import { DomainError } from '../../../../kernel/errors.ts';
import { counted } from '../../../../lib/text.ts';
import { type PlanContext, publishedVersion, type StagedContent, type Step } from '../../changes/staged-content.ts';
import { checkVersion } from '../../changes/write-rules.ts';
import { storedEntry } from '../../content/collection-index.ts';
import { checkPrecondition } from '../../repository/branch-rules.ts';
import { ownFiles } from '../own-files.ts';
import { namedIn, referencesTo } from '../references.ts';

interface EntryDeletion {
  collection: string;
  /** Slug of the entry. */
  entry: string;
  sha?: string | undefined;
  force?: boolean | undefined;
  /** Its own files go along, except files that other entries name. */
  assets?: boolean | undefined;
}

interface Deleted {
  path: string;
  assets?: string[];
  kept_assets?: string[];
}

/** The entries, but for one, that name a file. */
const othersNaming = async ({ mediaReferences }: StagedContent, file: string, path: string) =>
  (await mediaReferences(file)).filter((reference) => reference.path !== path);

/**
 * Plans the deletion of an entry.
 * @throws DomainError `not_found`, `precondition_failed`, `sha_mismatch`; its check `in_use` where entries that are left require it or name a
 * file that goes along
 */
export async function planDelete(
  context: PlanContext,
  staged: StagedContent,
  { collection, entry, sha, force, assets }: EntryDeletion,
): Promise<Step<Deleted>> {
  const index = staged.site.collection(collection);
  const place = storedEntry(index, entry);
  const { path } = place;
  if (!staged.changed.has(path)) checkPrecondition(context.project, context.conditions, sha);
  const { entry: stored } = await staged.tree.lookup(path);
  if (stored) checkVersion(await publishedVersion(staged, path, stored), context.conditions, sha);
  const target = namedIn(staged.site, { collection, slug: entry });
  const own = assets ? (await ownFiles(staged, index, place)).map((file) => file.path) : [];
  const named = await Promise.all(own.map(async (file) => (await othersNaming(staged, file, path)).length > 0));
  const [kept, going] = [own.filter((_, at) => named[at]), own.filter((_, at) => !named[at])];
  return {
    changes: [path, ...going].map((file) => ({ path: file, content: null })),
    summary: `Delete ${collection}/${entry}`,
    result: {
      path,
      ...(going.length > 0 && { assets: going }),
      ...(kept.length > 0 && { kept_assets: kept }),
    },
    async check(after) {
      const isThereAgain = after.changed.has(path) && after.site.collection(collection).find(entry) !== undefined;
      if (force || isThereAgain) return [];
      const references = await referencesTo(context, after, [target], { counts: (relation) => relation.required });
      const required = references.filter((reference) => reference.path !== path);
      if (required.length > 0)
        throw new DomainError(
          'in_use',
          `${collection}/${entry} is required by ${counted(required.length, 'entry', 'entries')}; change them first, or use force`,
          { details: { references: required.slice(0, 100) } },
        );
      // Only a later step of the same commit can have named one of them.
      const naming = after === staged ? [] : await Promise.all(going.map((file) => othersNaming(after, file, path)));
      const at = naming.findIndex((found) => found.length > 0);
      if (at === -1) return [];
      throw new DomainError(
        'in_use',
        `${going[at]} is named by ${counted(naming[at]?.length ?? 0, 'entry', 'entries')}; change them first, or use force`,
        { details: { references: naming[at]?.slice(0, 100) ?? [] } },
      );
    },
  };
}
