/**
 * Files of media that a branch no longer has, as its first-parent line tells: the newest commit there that touched a path which is gone deleted it.
 * A file whose bytes are still on the branch has only another name, and is not listed. `revertMedia` with the commit brings a file back.
 */
import { z } from 'zod';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Commit, Oid, Snapshot } from '../../../ports/git-records.ts';
import { siteFilesOf } from '../content/site-files.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { pageSnapshot, refInput } from '../repository/refs.ts';
import { commit } from '../repository/repository.schema.ts';
import { entryRoutes } from '../routes/entry-routes.ts';
import { studioOperation } from '../studio-operation.ts';
import { viewOf } from '../view.ts';
import { isMedia } from './media.operations.ts';
import { media } from './media.schema.ts';
import { mediaFacts, mediaRecord, mediaRootOf } from './media-facts.ts';
import { mediaTypeOf } from './media-types.ts';

/** Commits that are looked through, and files that are found, at most. */
const most = { commits: 10_000, files: 1_000 };

interface Deleted {
  path: string;
  /** What it held at last. */
  oid: Oid;
  commit: Commit;
}

/** What was deleted on the way to a commit, the newest first. */
async function deletedUpTo(git: Repository, snapshot: Snapshot, site: SiteIndex): Promise<Deleted[]> {
  if (snapshot.commit === null) return [];
  const here = await (await siteFilesOf(snapshot)).oids();
  const blobs = new Set(here.values());
  const seen = new Set<string>();
  const found: Deleted[] = [];
  let walked = 0;
  for await (const { oid, parents, paths } of git.line(snapshot.commit, null)) {
    const gone = paths.filter((path) => !here.has(path) && !seen.has(path) && mediaTypeOf(path) !== null);
    for (const path of gone) seen.add(path);
    const [parent] = parents;
    if (parent !== undefined && gone.length > 0) {
      const before = await git.snapshot(parent);
      for (const path of gone) {
        const { entry } = await before.lookup(path);
        const isFile = entry !== null && mediaRootOf(site, path) !== null && isMedia(site, { path, mode: entry.mode });
        if (!isFile || blobs.has(entry.oid)) continue;
        found.push({ path, oid: entry.oid, commit: await git.commit(oid) });
        if (found.length === most.files) return found;
      }
    }
    walked += 1;
    if (walked === most.commits) return found;
  }
  return found;
}

export const listDeletedMedia = studioOperation({
  name: 'studio.listDeletedMedia',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List deleted files, the newest deletion first: up to 1,000, of the last 10,000 commits',
  input: z.object({ ...refInput, ...pageInput }),
  output: pageOf(
    media
      .extend({ commit: commit.describe('The commit that deleted it; its first parent has the file') })
      .meta({ id: 'DeletedFile' }),
  ),
  async execute(context, input) {
    const { git, studio, tag } = context;
    const window = windowOf(input);
    const snapshot = await pageSnapshot(git, window, input);
    const site = await studio.content.site(git, snapshot);
    const routes = await entryRoutes(context, snapshot);
    if (snapshot.commit) tag(`"${snapshot.commit}.${viewOf([input, routes.key])}"`);
    const deleted = await deletedUpTo(git, snapshot, site);
    const items = deleted.slice(window.offset, window.offset + window.limit);
    const facts = await mediaFacts(git, snapshot, items);
    return pageFrom(
      items.map((item) => ({ ...mediaRecord(site, item, facts, routes), commit: item.commit })),
      deleted.length,
      window,
      snapshot.commit,
    );
  },
});
