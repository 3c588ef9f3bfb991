import { forEachYielding, mapYielding } from '../../../../lib/concurrency.ts';
import type { ContentCache, StoredBlob } from '../../../../ports/content-cache.ts';
import type { Repository } from '../../../../ports/git.ts';
import type { Oid, Snapshot } from '../../../../ports/git-records.ts';

/** Refs whose files are kept quick to list and search; files that only the history has are read again on request. */
const holding = ['refs/heads', 'refs/pull', 'refs/portico/rescue', 'refs/tags'];
/** A repository with more commits at its refs than this is left as it is: its trees would have to be listed for hours. */
const mostCommits = 1_000;
/** Rows of a repository in one night. */
const mostRows = 20_000;
const rowsAtOnce = 2_000;

/** The commits that refs hold, that of the default branch first; null: too many. */
async function tips(git: Repository): Promise<Oid[] | null> {
  const found = new Set<Oid>();
  const head = await git.head(await git.defaultBranch());
  if (head) found.add(head);
  for (const prefix of holding) {
    for (const { oid } of await git.refsBelow(prefix)) {
      // A tag may be an object of its own, of a commit or of anything else.
      const [tagged] = prefix === 'refs/tags' ? await git.log({ from: oid, skip: 0, limit: 1 }).catch(() => []) : [];
      if (prefix !== 'refs/tags') found.add(oid);
      else if (tagged) found.add(tagged.sha);
      if (found.size > mostCommits) return null;
    }
  }
  return [...found];
}

/** What of a repository's stored blobs no ref holds. */
async function unheld(git: Repository, stored: Iterable<StoredBlob>, signal: AbortSignal): Promise<StoredBlob[]> {
  const left = new Map<Oid, StoredBlob[]>();
  for (const blob of stored) left.set(blob.oid, [...(left.get(blob.oid) ?? []), blob]);
  const commits = left.size === 0 ? [] : await tips(git);
  if (!commits) return [];
  for (const commit of commits) {
    if (left.size === 0 || signal.aborted) break;
    const snapshot: Snapshot = await git.snapshot(commit);
    await forEachYielding(await snapshot.files(), ({ oid }) => left.delete(oid));
  }
  return signal.aborted ? [] : [...left.values()].flat();
}

/**
 * Retires what is stored of files that nothing in a repository holds any more, and forgets last commits of paths that are gone. Retired rows are
 * removed by a later `removeExpired`, when no process can still rely on them.
 */
export async function pruneContent(cache: ContentCache, git: Repository, signal: AbortSignal): Promise<void> {
  const stored = await cache.stored(git.id);
  const gone = stored ? await unheld(git, stored, signal) : [];
  for (let from = 0; from < Math.min(gone.length, mostRows) && !signal.aborted; from += rowsAtOnce)
    await cache.retire(git.id, gone.slice(from, from + rowsAtOnce));
  const marker = (await cache.lastCommits(git.id, []))?.marker;
  if (!marker || signal.aborted) return;
  const files = await (await git.snapshot(marker)).files();
  const held = await mapYielding(files, ({ path }) => path);
  await cache.forgetCommits(git.id, marker, held, mostRows);
}
