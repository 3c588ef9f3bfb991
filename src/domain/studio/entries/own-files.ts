import type { Snapshot, TreeFile } from '../../../ports/git-records.ts';
import { isContent } from '../content/admission.ts';
import { type CollectionIndex, type IndexedEntry, schemaAt } from '../content/collection-index.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { withoutExtension } from '../frameworks/routing/paths.ts';

interface At {
  tree: Snapshot;
  site: SiteIndex;
}

const directoryOf = (path: string) => path.slice(0, Math.max(path.lastIndexOf('/'), 0));

/** The directory an entry is the index of; null for an entry that has a file name of its own. */
export function bundleOf({ schema }: CollectionIndex, place: Pick<IndexedEntry, 'path' | 'slug'>): string | null {
  const directory = directoryOf(place.path);
  return directory === [schema.path, place.slug].filter(Boolean).join('/') ? directory : null;
}

/** The files of the directory called like the entry, which only its page shows; entries there are not among them. */
export async function assetFolder({ tree, site }: At, { path }: Pick<IndexedEntry, 'path'>): Promise<TreeFile[]> {
  const directory = withoutExtension(path);
  const below = (await tree.treeOid(directory)) === null ? [] : await tree.files(directory);
  return below
    .map((file) => ({ ...file, path: `${directory}/${file.path}` }))
    .filter((file) => schemaAt(site, file.path) === undefined);
}

/** What lies in the directory an entry is the index of, but for directories that have entries of their own; nothing where it shares it with another. */
async function bundledFiles({ tree, site }: At, directory: string, place: IndexedEntry): Promise<TreeFile[]> {
  const files = (await tree.files(directory)).map((file) => ({ ...file, path: `${directory}/${file.path}` }));
  const isEntry = ({ path }: TreeFile) => path !== place.path && schemaAt(site, path) !== undefined;
  const others = new Set(files.filter(isEntry).map(({ path }) => directoryOf(path)));
  if (others.has(directory)) return [];
  const isOthers = (path: string) => {
    for (let home = directoryOf(path); home.length > directory.length; home = directoryOf(home))
      if (others.has(home)) return true;
    return false;
  };
  return files.filter(({ path }) => path !== place.path && !isOthers(path));
}

/** Files of content that belong to one entry alone, by where they lie: its asset folder, or what lies beside it in its own directory. */
export async function ownFiles(at: At, index: CollectionIndex, place: IndexedEntry): Promise<TreeFile[]> {
  const directory = bundleOf(index, place);
  const files = directory === null ? [] : await bundledFiles(at, directory, place);
  const assets = directory === null && index.schema.asset_folders ? await assetFolder(at, place) : [];
  return [...files, ...assets].filter(({ path, mode }) => isContent(at.site, path, mode));
}
