import type { z } from 'zod';
import { DomainError, fieldError } from '../../../../kernel/errors.ts';
import type { Oid, Snapshot, TreeEntry } from '../../../../ports/git-records.ts';
import { type PlanContext, publishedVersion, type StagedContent, type Step } from '../../changes/staged-content.ts';
import { checkNoneMatch, checkVersion, seenOid } from '../../changes/write-rules.ts';
import { type CollectionIndex, type IndexedEntry, storedEntry } from '../../content/collection-index.ts';
import { type FileContent, type OpenedFile, openFile, parseFile } from '../../frontmatter/parse-file.ts';
import type { Conflict } from '../../merge/merge.schema.ts';
import { type FileConflict, mergeEntry } from '../../merge/merge-entry.ts';
import { conflictOf } from '../../merge/merge-sides.ts';
import { Resolutions, refuseResolution } from '../../merge/resolutions.ts';
import { checkDirectory } from '../../path-rules.ts';
import { checkPrecondition } from '../../repository/branch-rules.ts';
import { blobOid, isOid } from '../../repository/refs.ts';
import type { StudioContext } from '../../studio.ts';
import type { entryChange } from '../entries.schema.ts';
import { checkSize, maxEntryBytes, type PlannedSave, redirectFor } from '../saved-entry.ts';
import { checkOfHeld, checkOfStored, newContent } from './change-entry.ts';
import { renameEntry } from './rename-entry.ts';

type Context = Pick<StudioContext, 'git' | 'conditions'>;
type EntryChange = Omit<z.output<typeof entryChange>, 'branch' | 'message' | 'author' | 'slug'>;

/** An entry that is about to be written. */
interface Target {
  tree: Snapshot;
  index: CollectionIndex;
  place: IndexedEntry;
  /** The file as the write finds it. */
  stored: TreeEntry;
  /** The version of it that the writer can have seen. */
  published: TreeEntry;
  change: EntryChange;
}

/**
 * What a save leaves behind. When the writer saw another version than is stored, the save is merged with what happened since
 * (`on_conflict=merge`) or refused; a version that is no longer kept leaves both sides without a base.
 *
 * @throws DomainError `precondition_failed`, `sha_mismatch` or `merge_conflict`, each with `details.conflicts` where they are known;
 * `branch_moved` for resolutions of another state.
 */
async function contentToSave(
  context: Context,
  target: Target,
): Promise<{ before: FileContent; content: FileContent; merged: boolean }> {
  const { tree, index, place, stored, published, change } = target;
  const { conditions } = context;
  checkNoneMatch(published, conditions);
  const before = openFile(await tree.blob(stored.oid), place.path);
  const seen = seenOid(published, conditions.if_match, change.sha);
  if (seen === null) {
    const [first] = change.resolutions ?? [];
    if (first) refuseResolution(first.path, 'the file is not in conflict');
    return { before, content: newContent(index, place, before, change), merged: false };
  }
  const base = await storedVersion(context, tree, place.path, seen);
  if (change.on_conflict === 'merge') {
    const bytes = mergeSave(target, base, before);
    return { before, content: { bytes, parsed: parseFile(bytes, place.path) }, merged: true };
  }
  try {
    checkVersion(published, conditions, change.sha);
  } catch (error) {
    throw base ? withConflicts(error, target, base, before) : error;
  }
  throw new Error('a version that was not seen passed for the stored one');
}

/**
 * A version of the file that the store still has; null when it is gone, or was never a file of this size, or one at this path: of another file, or of
 * history that is gone, a conflict would show what its reader may not see.
 */
async function storedVersion({ git }: Context, tree: Snapshot, path: string, oid: Oid): Promise<Buffer | null> {
  const [size] = isOid(oid) ? await tree.sizes([oid]) : [];
  if (size == null || size > maxEntryBytes || !(await git.hasVersion(path, oid))) return null;
  return tree.blob(oid).catch((error: unknown) => {
    if (error instanceof DomainError) return null;
    throw error;
  });
}

function versionsOf({ index, place, stored, change }: Target, base: Buffer | null, before: OpenedFile) {
  const incoming = newContent(index, place, base ? openFile(base, place.path) : before, change).bytes;
  const side = (oid: Oid) => ({ oid, mode: stored.mode });
  const stages = {
    base: base && side(blobOid(base, stored.oid)),
    current: side(stored.oid),
    incoming: side(blobOid(incoming, stored.oid)),
  };
  return { input: { base, current: before.bytes, incoming, path: place.path, schema: index.schema }, stages };
}

function mergeSave(target: Target, base: Buffer | null, before: OpenedFile): Buffer {
  const { place, index, change, stored } = target;
  const given = change.resolutions ?? [];
  const stranger = given.find(({ path }) => path !== place.path);
  if (stranger) refuseResolution(stranger.path, 'is not the file that is saved');
  const { input, stages } = versionsOf(target, base, before);
  const resolutions = new Resolutions(given, {});
  // It is an entry, and one that the merge would delete is refused below.
  const resolution = resolutions.take(place.path, stages);
  const result = mergeEntry({ ...input, ...(resolution && { resolution }) });
  const shown = (found: FileConflict): Conflict =>
    conflictOf(
      { entryAt: () => ({ collection: index.schema.collection, slug: place.slug }) },
      place.path,
      stages,
      found,
    );
  if (given.length > 0 && !resolution) {
    throw resolutions.moved({ conflicts: result.kind === 'conflict' ? [shown(result.conflict)] : [] });
  }
  if (result.kind === 'conflict') {
    throw new DomainError('merge_conflict', 'The entry has changed since it was read, and the changes clash', {
      details: { conflicts: [shown(result.conflict)], current_sha: stored.oid },
    });
  }
  if (result.bytes === null) refuseResolution(place.path, 'an entry is deleted by DELETE');
  return result.bytes;
}

/** Adds to a refusal what a merge would have met; the refusal stays what it is when that is unknown. */
function withConflicts(error: unknown, target: Target, base: Buffer, before: OpenedFile): unknown {
  if (!(error instanceof DomainError)) return error;
  try {
    const { on_conflict: _, resolutions: __, ...change } = target.change;
    mergeSave({ ...target, change: { ...change, on_conflict: 'merge' } }, base, before);
    return new DomainError(error.code, error.message, { details: { ...error.details, conflicts: [] } });
  } catch (found) {
    if (!(found instanceof DomainError) || found.code !== 'merge_conflict') return error;
    const conflicts = found.details?.conflicts;
    return new DomainError(error.code, error.message, { details: { ...error.details, conflicts } });
  }
}

const noWarnings = async () => [];

/** A new slug, and the field of the input it came in. */
interface RenameTo {
  slug: string;
  field: string;
}

type EntryEdit = Omit<z.output<typeof entryChange>, 'branch' | 'message' | 'author' | 'slug'> & {
  collection: string;
  /** Slug of the entry. */
  entry: string;
  to?: RenameTo | undefined;
};

/**
 * Plans a save of an entry, a rename, or both.
 * @throws DomainError `not_found`, `not_editable`, `already_exists` for the new slug, and what `contentToSave` throws
 */
export async function planUpdate(
  context: PlanContext,
  staged: StagedContent,
  { collection, entry, to, ...change }: EntryEdit,
): Promise<Step<PlannedSave>> {
  const slug = to === undefined || to.slug === entry ? null : checkDirectory(to.field, to.slug);
  const index = staged.site.collection(collection);
  const place = storedEntry(index, entry);
  if (!staged.changed.has(place.path)) checkPrecondition(context.project, context.conditions, change.sha);
  const { entry: stored, blocked } = await staged.tree.lookup(place.path);
  if (blocked || !stored)
    throw new DomainError('not_editable', `${place.path} cannot be written: it is behind a symlink`);
  const published = await publishedVersion(staged, place.path, stored);
  const target = { tree: staged.tree, index, place, stored, published, change };
  const { before, merged, content } = await contentToSave(context, target);
  const bytes = checkSize(content.bytes);
  const isEdited = !bytes.equals(before.bytes);
  const saved = { index, schemaKey: staged.site.schemaKey, place, content, merged };
  const kept = isEdited ? await staged.contents.keep(bytes) : { oid: stored.oid };
  const checkIn = (...paths: [string, ...string[]]) => {
    if (Buffer.isBuffer(kept)) return checkOfHeld(index, paths, content, before);
    return isEdited ? checkOfStored(staged, index, paths, { written: kept.oid, before: stored.oid }) : noWarnings;
  };
  if (slug === null || to === undefined) {
    return {
      changes: isEdited ? [{ path: place.path, content: kept }] : [],
      summary: `Update ${collection}/${entry}`,
      result: saved,
      check: checkIn(place.path),
    };
  }
  if (index.find(slug)) throw fieldError('already_exists', to.field, `${collection} has an entry ${slug}`);
  const renamed = await renameEntry(context, staged, index, place, { slug, field: to.field }, kept);
  const { path, changes, references, assets } = renamed;
  return {
    changes,
    summary: `Rename ${collection}/${entry} to ${slug}`,
    result: {
      ...saved,
      place: { ...place, slug: renamed.slug, path },
      content: renamed.content,
      renamedFrom: entry,
      references,
      assets,
      redirect: redirectFor(index.schema, entry),
    },
    check: checkIn(path, place.path),
  };
}
