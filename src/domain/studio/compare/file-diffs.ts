import type { z } from 'zod';
import type { ProjectContext } from '../../operation.ts';
import type { ChangedFile, FileSide, Oid, Snapshot } from '../../ports/git-records.ts';
import { entryAt } from '../content/entry-at.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { changedFields } from './changed-fields.ts';
import type { fileDiff } from './compare.schema.ts';

export type FileDiff = z.output<typeof fileDiff>;

/** Bytes of patch shown of one file, and of all files of a page together. */
const patchLimit = 64 * 1024;
const patchesLimit = 1024 * 1024;

interface Options {
  skip: number;
  limit: number;
  /** Adds the patches. */
  patch?: boolean | undefined;
}

/** One page of the files that differ between two commits, entries with the frontmatter keys that do. */
export async function fileDiffs(
  context: Pick<ProjectContext, 'git' | 'services'>,
  base: Oid,
  head: Oid,
  { patch = false, ...page }: Options,
): Promise<{ files: FileDiff[]; total: number }> {
  const { git, services } = context;
  const { files, total } = await git.diff(base, head, page);
  const snapshot = await git.snapshot(head);
  const site = files.length > 0 ? await services.content.site(git, snapshot) : null;
  const diffs: FileDiff[] = [];
  let left = patchesLimit;
  for (const file of files) {
    const diff = { ...recordOf(file), ...(site && (await entryPart(context, snapshot, site, file))) };
    if (patch && !file.binary) {
      const { text, truncated } = await git.patch(base, head, file, Math.min(patchLimit, left));
      left -= Buffer.byteLength(text);
      diff.patch = text;
      if (truncated) diff.truncated = true;
    }
    diffs.push(diff);
  }
  return { files: diffs, total };
}

const recordOf = ({ path, previous_path, status, additions, deletions, base, head }: ChangedFile): FileDiff => ({
  path,
  ...(previous_path !== null && { previous_path }),
  status,
  additions,
  deletions,
  changes: additions + deletions,
  sha: (head ?? base)?.oid ?? '',
});

const isRegular = (side: FileSide | null) => side?.mode === '100644' || side?.mode === '100755';

/** What a changed file is as an entry; nothing when it is none. Keys are named only where both versions can be read. */
async function entryPart(
  { git, services }: Pick<ProjectContext, 'git' | 'services'>,
  snapshot: Snapshot,
  site: SiteIndex,
  { path, previous_path, base, head }: ChangedFile,
): Promise<Pick<FileDiff, 'collection' | 'slug' | 'fields'> | null> {
  const place = isRegular(head ?? base) ? entryAt(site, path) : null;
  if (!place) return null;
  const factsOf = async (side: FileSide | null, at: string) => {
    if (!side || !isRegular(side)) return {};
    const [facts] = await services.content.listedFacts(git, snapshot, [{ path: at, oid: side.oid }]);
    return facts?.frontmatter ?? null;
  };
  const [before, after] = [await factsOf(base, previous_path ?? path), await factsOf(head, path)];
  return { ...place, ...(before && after && { fields: changedFields(before, after) }) };
}
