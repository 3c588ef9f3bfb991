import { fieldError } from '../../errors.ts';
import type { StoredBlob } from '../../ports/git-records.ts';
import { type PlanContext, publishedVersion, type StagedContent, type Step } from '../changes/staged-content.ts';
import { refusalOf } from '../content/admission.ts';
import { schemaAt } from '../content/entry-at.ts';
import { checkFree, checkVersion } from '../entries/write-entry.ts';
import { numbered } from './media-name.ts';
import type { Upload } from './store-upload.ts';

const maxRenames = 1000;

interface UploadOptions {
  overwrite?: boolean | undefined;
  rename?: boolean | undefined;
  sha?: string | undefined;
}

/** A file where it goes. */
export interface PlacedUpload {
  path: string;
  blob: StoredBlob;
  /** The same bytes are not there yet. */
  isNew: boolean;
}

/** Where an upload goes; null when the same bytes are there already. */
async function target(
  staged: StagedContent,
  { path, blob }: Upload,
  { overwrite, rename, sha }: UploadOptions,
  taken: ReadonlySet<string>,
): Promise<string | null> {
  for (let at = 0; at <= (rename ? maxRenames : 0); at++) {
    const candidate = numbered(path, at);
    if (taken.has(candidate)) continue;
    const { entry, blocked } = await staged.tree.lookup(candidate);
    if (blocked)
      throw fieldError('not_editable', 'path', `${blocked} is a symlink or submodule and is never written through`);
    if (!entry) {
      await checkFree(staged.tree, candidate, 'path');
      return candidate;
    }
    if (entry.mode === '40000') throw fieldError('already_exists', 'path', `${candidate} is a directory`);
    if (entry.oid === blob.oid) return null;
    if (overwrite && at === 0) {
      checkVersion(await publishedVersion(staged, candidate, entry), undefined, sha);
      return candidate;
    }
  }
  throw fieldError('already_exists', 'path', `${path} exists; overwrite or rename`);
}

/** The rest of its name and its bytes were checked when it was stored, before the site was known. */
function checkPlace(context: PlanContext, { site }: StagedContent, { path, blob }: Upload): void {
  if (schemaAt(site, path)) {
    throw fieldError('not_editable', 'path', `${path} would be an entry of a collection; create it as one`);
  }
  const refused = refusalOf(site, { path, ...blob }, context.services.settings.media_limit);
  if (refused?.code === 'forbidden') context.require('manage_studio');
  else if (refused) throw fieldError(refused.code, refused.of, refused.problem);
}

/**
 * Plans uploads that have been stored.
 * @throws DomainError `already_exists`, `name_collision`, `not_editable`, `sha_mismatch`, `forbidden` outside the media roots
 */
export async function planUpload(
  context: PlanContext,
  staged: StagedContent,
  uploads: readonly Upload[],
  options: UploadOptions,
): Promise<Step<{ placed: PlacedUpload[] }>> {
  const placed: PlacedUpload[] = [];
  for (const upload of uploads) {
    checkPlace(context, staged, upload);
    const path = await target(staged, upload, options, new Set(placed.map((file) => file.path)));
    placed.push({ path: path ?? upload.path, blob: upload.blob, isNew: path !== null });
  }
  return {
    changes: placed.filter((file) => file.isNew).map(({ path, blob }) => ({ path, content: blob })),
    summary: `Upload ${placed.map((file) => file.path).join(', ')}`.slice(0, 500),
    result: { placed },
    check: async () => [],
  };
}
