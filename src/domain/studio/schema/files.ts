import { compileGlob, type Glob } from './glob.ts';
import { below, dataExtensions, extensionOf, joinPath, markdownExtensions } from './site-layout.ts';
import { resolvePath } from './static/module-graph.ts';

/** Which files a collection has; all paths from the repository root. */
export interface Files {
  base: string;
  /** The deepest directory that certainly holds them all. */
  area: string;
  /** The collection is this one file. */
  single: boolean;
  matches(path: string): boolean;
}

export type Located = Files | { unknown: string };

/** Extensions an entry can have at all. */
export const entryExtensions: ReadonlySet<string> = new Set([...markdownExtensions, ...dataExtensions]);

/** The files of a directory that fit any of the patterns and none of those that begin with `!`. */
export function globFiles(root: string, base: string, patterns: readonly string[]): Located {
  const directory = resolvePath(root, base);
  if (directory === null || base.startsWith('/')) return { unknown: `the base "${base}" lies outside the repository` };
  const positive: Glob[] = [];
  const negative: Glob[] = [];
  for (const pattern of patterns) {
    const glob = compileGlob(pattern.replace(/^!/, ''));
    if (glob === null) return { unknown: `the pattern "${pattern}" is not understood` };
    (pattern.startsWith('!') ? negative : positive).push(glob);
  }
  const prefix = directory === '' ? '' : `${directory}/`;
  const matches = (path: string) => {
    if (!path.startsWith(prefix) || !entryExtensions.has(extensionOf(path)) || path.includes('node_modules/')) {
      return false;
    }
    const rest = path.slice(prefix.length);
    return positive.some((glob) => glob.matches(rest)) && !negative.some((glob) => glob.matches(rest));
  };
  const areas = new Set(positive.map((glob) => glob.prefix));
  const area = joinPath(directory, areas.size === 1 ? ([...areas][0] ?? '') : '');
  return { base: directory, area, single: false, matches };
}

/** Exactly one file; `path` is relative to `root`. */
export function oneFile(root: string, path: string | undefined): Located {
  const file = path === undefined || path.startsWith('/') ? null : resolvePath(root, path);
  if (file === null || file === '') return { unknown: 'the path of the file is not known' };
  const base = file.slice(0, Math.max(0, file.lastIndexOf('/')));
  return { base, area: file, single: true, matches: (other) => other === file };
}

export interface FolderRules {
  extensions: readonly string[];
  /** How many segments below the directory a file may have; 1: directly in it. */
  depth?: number;
  /** Of the path below the directory. */
  accepts?: (rest: string) => boolean;
}

/** The files of a directory with one of the extensions. */
export function folderFiles(root: string, folder: string, rules: FolderRules): Located {
  const base = resolvePath(root, folder.replace(/^\/+/, ''));
  if (base === null) return { unknown: `the folder "${folder}" lies outside the repository` };
  const { depth = Number.POSITIVE_INFINITY, accepts = () => true } = rules;
  const extensions = new Set(rules.extensions.map((extension) => extension.toLowerCase()));
  const matches = (path: string) => {
    const rest = below(base, path);
    if (rest === null || !extensions.has(extensionOf(rest)) || rest.includes('node_modules/')) return false;
    return (depth === Number.POSITIVE_INFINITY || rest.split('/').length <= depth) && accepts(rest);
  };
  return { base, area: base, single: false, matches };
}
