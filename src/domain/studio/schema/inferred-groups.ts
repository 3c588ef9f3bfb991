import { forEachYielding, Pace, sortYielding } from '../../../lib/concurrency.ts';
import { normalized } from '../../../lib/text.ts';
import { membership, type PathSet } from './path-set.ts';
import { collectionNamePattern } from './schema.schema.ts';
import {
  below,
  dataExtensions,
  extensionOf,
  isExcluded,
  joinPath,
  markdownExtensions,
  type SiteLayout,
} from './site-layout.ts';

/** Files that form a collection because they lie together. */
export interface Group {
  name: string;
  /** From the repository root. */
  directory: string;
  /** Only the files directly in the directory: its subdirectories are collections of their own. */
  shallow: boolean;
  extensions: string[];
  paths: string[];
}

/** Directories that hold content rather than being a collection: their subdirectories are the collections. */
const contentDirectories = ['src/content', 'content', 'contents', '_content'];
const wrappers = new Set([...contentDirectories, 'src', 'src/data', 'source', 'site', 'website', 'data']);

/** Whether a directory (relative to the site) holds collections instead of being one. */
export const isWrapper = (directory: string) => directory === '' || wrappers.has(directory);

function place(path: string, layout: SiteLayout): { directory: string; shallow: boolean; content: boolean } {
  const inside = layout.root === '' || path.startsWith(`${layout.root}/`);
  const root = inside ? layout.root : '';
  const parts = (root === '' ? path : path.slice(root.length + 1)).split('/');
  let taken = '';
  let depth = 0;
  while (depth < parts.length - 1 && wrappers.has(joinPath(taken, parts[depth] ?? ''))) {
    taken = joinPath(taken, parts[depth++] ?? '');
  }
  const shallow = depth === parts.length - 1;
  const directory = joinPath(root, taken, shallow ? '' : (parts[depth] ?? ''));
  return { directory, shallow, content: !shallow && contentDirectories.includes(taken) };
}

/** Whether a directory is one of those below a content directory, which hold nothing but content. */
export function isBelowContent(directory: string, root: string): boolean {
  const rest = below(root, directory) ?? directory;
  return contentDirectories.some((one) => rest.startsWith(`${one}/`));
}

/** Files that tools read, not pages. */
export const toolFiles: PathSet = {
  kind: 'named',
  names: [
    ...['package', 'package-lock', 'composer', 'lerna', 'nx', 'turbo', 'vercel', 'deno', 'import-map'],
    ...['tsconfig', 'tsconfig.base', 'tsconfig.build', 'jsconfig'],
  ]
    .map((name) => `${name}.json`)
    .concat(['Cargo', 'pyproject', 'netlify', 'hugo', 'config'].map((name) => `${name}.toml`))
    .concat(
      ['mkdocs', '_config', 'config', 'pnpm-lock', 'pnpm-workspace'].flatMap((name) => [`${name}.yml`, `${name}.yaml`]),
    ),
};
export const isToolFile = membership(toolFiles);

/** A collection name out of a directory name: accents and forbidden characters go. */
export function collectionName(text: string): string {
  const plain = normalized(text, 'NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^[.-]+|-+$/g, '')
    .slice(0, 100);
  return collectionNamePattern.test(plain) ? plain : 'collection';
}

/**
 * First free of: the directory's name (`pages` for loose files), with its parents in front, with a number behind.
 * @param numbered the last number behind each name: thousands of directories may come to the same one
 */
function freeName(
  directory: string,
  shallow: boolean,
  taken: ReadonlySet<string>,
  numbered: Map<string, number>,
): string {
  const parts = directory === '' ? [] : directory.split('/');
  const wanted = shallow ? ['pages', ...parts.slice(-1)] : parts.slice(-1);
  for (let count = 2; count <= parts.length; count++) wanted.push(parts.slice(-count).join('-'));
  for (const text of wanted) if (!taken.has(collectionName(text))) return collectionName(text);
  const base = collectionName(wanted.at(-1) ?? 'pages').slice(0, 90);
  for (let count = (numbered.get(base) ?? 1) + 1; ; count++) {
    numbered.set(base, count);
    if (!taken.has(`${base}-${count}`)) return `${base}-${count}`;
  }
}

/**
 * Groups the unclaimed content files: by directory below a content directory (`content`, `src/content`, `source`,
 * `src` …), else by top-level directory of the site, else of the repository. Loose Markdown files of a root or content directory
 * form the collection `pages`. Every Markdown file that is not excluded lands in exactly one group.
 * @param paths files from the repository root
 * @param taken collection names that are in use
 */
export async function groupFiles(
  paths: readonly string[],
  layout: SiteLayout,
  taken: ReadonlySet<string>,
): Promise<Group[]> {
  const places = new Map<
    string,
    { directory: string; shallow: boolean; content: boolean; md: string[]; data: string[] }
  >();
  await forEachYielding(paths, (path) => {
    const extension = extensionOf(path);
    const markdown = markdownExtensions.some((known) => known === extension);
    if (!markdown && !dataExtensions.some((known) => known === extension)) return;
    if (layout.given && layout.root !== '' && !path.startsWith(`${layout.root}/`)) return;
    if (isExcluded(path, layout)) return;
    const found = place(path, layout);
    if (!markdown && isToolFile(path)) return;
    const key = `${found.shallow ? '.' : ''}/${found.directory}`;
    const group = places.get(key) ?? { ...found, md: [], data: [] };
    places.set(key, group);
    (markdown ? group.md : group.data).push(path);
  });
  // Names go to content directories first, then upwards from the shallowest, so that a stray directory renames no collection.
  const order = await sortYielding(
    [...places.values()],
    (a, b) =>
      Number(b.content) - Number(a.content) ||
      a.directory.split('/').length - b.directory.split('/').length ||
      (a.directory < b.directory ? -1 : 1),
  );
  const names = new Set(taken);
  const sorted = [...order.filter((group) => !group.shallow), ...order.filter((group) => group.shallow)];
  const groups: Group[] = [];
  const numbered = new Map<string, number>();
  const pace = new Pace();
  for (const { directory, shallow, content, md, data } of sorted) {
    if (md.length === 0 && !content) continue;
    const name = freeName(directory, shallow, names, numbered);
    names.add(name);
    const known: readonly string[] = md.length > 0 ? markdownExtensions : dataExtensions;
    const files = md.length > 0 ? md : data;
    if (pace.isDue) await pace.yield();
    groups.push({ name, directory, shallow, extensions: await byUse(files, known), paths: files });
    const beside = `${name}-data`;
    // More data files than pages belong to programs, not to the site.
    if (shallow || md.length === 0 || data.length === 0 || data.length > md.length || names.has(beside)) continue;
    names.add(beside);
    groups.push({ name: beside, directory, shallow, extensions: await byUse(data, dataExtensions), paths: data });
  }
  return groups;
}

/** The extensions in use, the most frequent first, then the ones that would also be accepted. */
export async function byUse(paths: readonly string[], known: readonly string[]): Promise<string[]> {
  const counts = new Map<string, number>();
  await forEachYielding(paths, (path) => {
    const extension = extensionOf(path);
    counts.set(extension, (counts.get(extension) ?? 0) + 1);
  });
  return [...known].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
}
