import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { counted, foldCase } from '../../../lib/text.ts';
import type { StoredBlob } from '../../../ports/git-records.ts';
import type { Spooled } from '../../../ports/spool.ts';
import { type PlanContext, publishedVersion, type StagedContent, type Step } from '../changes/staged-content.ts';
import { checkFree, checkUnseen, checkVersion } from '../changes/write-rules.ts';
import { isContent, isRegular, refusalOf, refusalOfMedia, refusalOfName } from '../content/admission.ts';
import { schemaAt } from '../content/collection-index.ts';
import { checkAddress, checkStoredPath } from '../path-rules.ts';
import { checkPrecondition } from '../repository/branch-rules.ts';
import type { StudioContext } from '../studio.ts';
import { mediaRootOf } from './media-facts.ts';
import { extensionOf, mediaPath, mediaTypeProblem, numbered } from './media-types.ts';

/** Largest file that comes as base64 in JSON, bytes. */
const inlineLimit = 25 * 1024 * 1024;

/** A file that has been stored and waits for the commit that names it. */
export interface Upload {
  path: string;
  blob: StoredBlob;
}

interface Incoming {
  path: string;
  content: AsyncIterable<Uint8Array> | Spooled;
  /** What the caller gave the content as. */
  field: 'content' | 'file';
}

/** The path an upload is stored at, by its name alone. @throws DomainError `invalid_path`, `invalid_name`, `unsupported_media` */
export function uploadPath(path: string): string {
  const checked = mediaPath(path);
  const refused = refusalOfName(checked);
  if (refused) throw fieldError(refused.code, 'path', refused.problem);
  const type = mediaTypeProblem(checked, null);
  if (type) throw fieldError('unsupported_media', 'path', type.problem);
  return checked;
}

/**
 * Stores the content of an upload ahead of its commit.
 * What comes as text has a limit of its own; the instance's holds for all.
 * @throws DomainError `invalid_path`, `invalid_name`, `too_large`, `unsupported_media`
 */
export async function storeUpload(
  { git, services }: Pick<StudioContext, 'git' | 'services'>,
  { path, content, field }: Incoming,
): Promise<Upload> {
  const checked = uploadPath(path);
  const blob = await git
    .storeBlob(
      content,
      Math.min(field === 'content' ? inlineLimit : Number.POSITIVE_INFINITY, services.settings.media_limit),
    )
    .catch((error: unknown) => {
      if (error instanceof DomainError && error.code === 'too_large')
        throw fieldError('too_large', field, error.message);
      throw error;
    });
  const unfit = refusalOfMedia({ path: checked, ...blob }, services.settings.media_limit);
  if (unfit) throw fieldError(unfit.code, unfit.of === 'path' ? 'path' : field, unfit.problem);
  return { path: checked, blob };
}

const maxRenames = 1000;

interface UploadOptions {
  overwrite?: boolean | undefined;
  rename?: boolean | undefined;
  sha?: string | undefined;
}

/** A file where it goes. */
interface PlacedUpload {
  path: string;
  blob: StoredBlob;
  /** The same bytes are not there yet. */
  isNew: boolean;
}

/** Where an upload goes; null when the same bytes are there already. @param taken the paths of those before it, by their folded names */
async function target(
  { conditions }: Pick<PlanContext, 'conditions'>,
  staged: StagedContent,
  { path, blob }: Upload,
  { overwrite, rename, sha }: UploadOptions,
  taken: ReadonlyMap<string, string>,
): Promise<string | null> {
  for (let at = 0; at <= (rename ? maxRenames : 0); at++) {
    const candidate = numbered(path, at);
    const other = taken.get(foldCase(candidate));
    if (other !== undefined && (rename || other === candidate)) continue;
    if (other !== undefined)
      throw fieldError('name_collision', 'path', `${candidate} differs from ${other} only in case or normalisation`);
    const { entry, blocked } = await staged.tree.lookup(candidate);
    if (blocked)
      throw fieldError('not_editable', 'path', `${blocked} is a symlink or submodule and is never written through`);
    if (!entry) {
      if (at === 0) checkUnseen(conditions, sha);
      await checkFree(staged.tree, candidate, 'path');
      return candidate;
    }
    if (entry.mode === '40000') throw fieldError('already_exists', 'path', `${candidate} is a directory`);
    if (entry.oid === blob.oid) return null;
    if (overwrite && at === 0) {
      checkVersion(await publishedVersion(staged, candidate, entry), conditions, sha);
      return candidate;
    }
  }
  throw fieldError('already_exists', 'path', `${path} exists; overwrite or rename`);
}

function checkIsNoEntry({ site }: StagedContent, path: string): void {
  if (schemaAt(site, path))
    throw fieldError('not_editable', 'path', `${path} would be an entry of a collection; create it as one`);
}

/** The rest of its name and its bytes were checked when it was stored, before the site was known. */
function checkPlace(context: PlanContext, staged: StagedContent, { path, blob }: Upload): void {
  checkIsNoEntry(staged, path);
  const { site } = staged;
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
  const taken = new Map<string, string>();
  for (const upload of uploads) {
    checkPlace(context, staged, upload);
    const free = await target(context, staged, upload, options, taken);
    const path = free ?? upload.path;
    placed.push({ path, blob: upload.blob, isNew: free !== null });
    taken.set(foldCase(path), path);
  }
  return {
    changes: placed.filter((file) => file.isNew).map(({ path, blob }) => ({ path, content: blob })),
    summary: `Upload ${placed.map((file) => file.path).join(', ')}`.slice(0, 500),
    result: { placed },
    check: async () => [],
  };
}

interface MediaMove {
  /** Its path now. */
  from: string;
  path: string;
  sha?: string | undefined;
  force?: boolean | undefined;
}

/**
 * Plans another path for a file. Its content stays in the store, and is read only where the first bytes have to fit another extension.
 * @throws DomainError as an upload to the new path and a deletion of the old one would; its check is that of the deletion
 */
export async function planMoveMedia(
  context: PlanContext,
  staged: StagedContent,
  { from, path, sha, force }: MediaMove,
): Promise<Step<{ path: string }>> {
  const removal = await planDeleteMedia(context, staged, { path: from, sha, force }, 'from');
  const { entry } = await staged.tree.lookup(from);
  if (!entry || !isRegular(entry.mode)) throw fieldError('not_editable', 'from', `${from} is a symlink`);
  const { oid, mode } = entry;
  const to = uploadPath(path);
  checkIsNoEntry(staged, to);
  if (mediaRootOf(staged.site, to) === null) context.require('manage_studio');
  if (extensionOf(to) !== extensionOf(from))
    for await (const { content } of staged.tree.blobs([oid])) {
      const type = mediaTypeProblem(to, content);
      if (type) throw fieldError('unsupported_media', 'path', type.problem);
    }
  await checkFree(await staged.tree.with(removal.changes), to, 'path');
  return {
    changes: [{ path: to, content: { oid }, mode }, ...removal.changes],
    summary: `Rename ${from} to ${to}`,
    result: { path: to },
    check: removal.check,
  };
}

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
  checkVersion(await publishedVersion(staged, path, entry), context.conditions, sha);
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
