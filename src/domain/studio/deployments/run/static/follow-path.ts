import type { Snapshot, TreeEntry } from '../../../../ports/git-records.ts';

/** Links followed before a path counts as leading nowhere, as in Linux (path_resolution(7)). */
const mostLinks = 40;

/** Where a path of a commit really leads. `entry` is null for the root; `missing`: nowhere; `outside`: out of the repository. */
export type Followed = { path: string; entry: TreeEntry | null } | 'missing' | 'outside';

/**
 * Follows the links of a path as a file system would, in the tree alone.
 * @param path relative to the root, '' for the root; may hold `.` and `..`
 */
export async function followPath(tree: Snapshot, path: string): Promise<Followed> {
  const waiting = path.split('/').reverse();
  let at: string[] = [];
  let entry: TreeEntry | null = null;
  let links = 0;
  for (let segment = waiting.pop(); segment !== undefined; segment = waiting.pop()) {
    if (segment === '' || segment === '.') continue;
    if (entry !== null && entry.mode !== '40000') return 'missing';
    if (segment === '..') {
      if (at.length === 0) return 'outside';
      at = at.slice(0, -1);
      entry = at.length === 0 ? null : (await tree.lookup(at.join('/'))).entry;
      continue;
    }
    const next: TreeEntry | null = (await tree.lookup([...at, segment].join('/'))).entry;
    if (next === null) return 'missing';
    if (next.mode !== '120000') {
      at = [...at, segment];
      entry = next;
      continue;
    }
    const target = (await tree.blob(next.oid)).toString('utf8');
    if (target.startsWith('/')) return 'outside';
    links += 1;
    if (links > mostLinks) return 'missing';
    waiting.push(...target.split('/').reverse());
  }
  return { path: at.join('/'), entry };
}
