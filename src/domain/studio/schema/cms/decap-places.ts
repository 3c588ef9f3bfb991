import { folderFiles, type Located } from '../files.ts';
import { membership, type PathSet, union } from '../path-set.ts';
import type { SiteReading } from '../reader.ts';
import { indexNames, joinPath } from '../site-layout.ts';
import { at, countOf, textAt } from '../static/read-value.ts';
import type { Value } from '../static/values.ts';
import type { Languages } from './decap-i18n.ts';

/** Paths of Decap start at the repository, whatever the site's own directory. */
export const trimmed = (path: string) => path.replace(/^\.?\/+|\/+$/g, '');

/** Last segment of the path template, when it is a fixed name. */
function leafOf(value: Value): string | null {
  const leaf = textAt(value, 'path')?.split('/').at(-1) ?? '{{slug}}';
  return leaf.includes('{{') ? null : leaf;
}

/** Names that make a file the entry of its folder: those the collection sets, and the framework's. */
export function indexNamesOf(value: Value, { layout }: SiteReading): string[] {
  const own = [leafOf(value), textAt(value, 'meta', 'path', 'index_file'), textAt(value, 'index_file', 'name')];
  return [...new Set([...own.filter((name) => typeof name === 'string'), ...indexNames(layout.framework)])];
}

/** The files of a folder collection. */
export function locate(
  folder: string,
  value: Value,
  extension: string,
  languages: Languages | null,
  reading: SiteReading,
): Located {
  const deep = (textAt(value, 'path') ?? '').split('/').length;
  const nested = countOf(at(value, 'nested', 'depth')) ?? 0;
  const inFolders = languages?.structure === 'multiple_folders';
  const depth = Math.max(deep, nested) + (inFolders ? 1 : 0);
  const codes = new Set(languages?.rules.codes);
  if (languages?.structure === 'multiple_root_folders') return rootFolders(folder, extension, depth, codes);
  const leaf = leafOf(value);
  const base = trimmed(folder);
  if (leaf === null) return folderFiles('', base, { extensions: [extension], depth });
  // Files from before the template was set are entries too, but no new file takes another form than the template's.
  const only = (from: string) => {
    const there = membership({ kind: 'folder', base: from, extensions: [extension], depth });
    const stem: PathSet = { kind: 'stem', stem: leaf };
    const paths = reading.paths.filter((path) => there(path) && !membership(stem)(path));
    reading.readsListing = true;
    return paths.length === 0 ? stem : union(stem, { kind: 'listed', paths });
  };
  return folderFiles('', base, { extensions: [extension], depth, only });
}

/** `<locale>/<folder>/…`: the collection begins above the languages. */
function rootFolders(folder: string, extension: string, depth: number, codes: ReadonlySet<string>): Located {
  const inner = trimmed(folder);
  const only = () =>
    union(...[...codes].map((code): PathSet => ({ kind: 'folder', base: joinPath(code, inner), depth })));
  return folderFiles('', '', { extensions: [extension], only });
}
