import { compileGlob } from './glob.ts';
import { below, extensionOf, isExcluded } from './site-layout.ts';

/**
 * A set of paths from the repository root, as a value: it can be compared, stored, and read again by another process. Sets that need a place to
 * begin have a directory `base`; `''` is the root.
 */
export type PathSet =
  | { kind: 'listed'; paths: readonly string[] }
  /** Files below a directory; of lower-case extensions, and at most `depth` segments below, where they are given. */
  | { kind: 'folder'; base: string; extensions?: readonly string[]; depth?: number }
  /** What lies below the directory and fits one of the globs there; a glob that is not understood fits nothing. */
  | { kind: 'glob'; base: string; patterns: readonly string[] }
  /** A directory on the way has this name. */
  | { kind: 'inside'; directory: string }
  /** A directory or file below `base` has a name that begins with one of these characters. */
  | { kind: 'marked'; base: string; marks: string }
  /** Files of these names, wherever they are. */
  | { kind: 'named'; names: readonly string[] }
  /** Files whose name up to its first dot is this. */
  | { kind: 'stem'; stem: string }
  /** Files whose name begins with a date, as Jekyll's posts do. */
  | { kind: 'dated' }
  /** What is no content wherever collections are. */
  | { kind: 'excluded'; root: string; given: boolean }
  | { kind: 'union'; of: readonly PathSet[] }
  | { kind: 'intersection'; of: readonly PathSet[] }
  | { kind: 'difference'; of: PathSet; without: readonly PathSet[] };

export type Membership = (path: string) => boolean;

export const noPaths: PathSet = { kind: 'union', of: [] };

export const union = (...of: PathSet[]): PathSet => (of.length === 1 && of[0] ? of[0] : { kind: 'union', of });

const packages: PathSet = { kind: 'inside', directory: 'node_modules' };

/** A set less others, and less what packages brought. */
export const without = (of: PathSet, ...others: PathSet[]): PathSet => ({
  kind: 'difference',
  of,
  without: [packages, ...others],
});

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const dated = /^\d{2,4}-\d{1,2}-\d{1,2}-./;

type Compilers = { [Kind in PathSet['kind']]: (set: Extract<PathSet, { kind: Kind }>) => Membership };

const compilers: Compilers = {
  listed: ({ paths }) => {
    const all = new Set(paths);
    return (path) => all.has(path);
  },
  folder: ({ base, extensions, depth }) => {
    const prefix = base === '' ? '' : `${base}/`;
    const known = extensions && new Set(extensions);
    return (path) =>
      path.startsWith(prefix) &&
      (known === undefined || known.has(extensionOf(path))) &&
      (depth === undefined || path.slice(prefix.length).split('/').length <= depth);
  },
  glob: ({ base, patterns }) => {
    const globs = patterns.map(compileGlob);
    return (path) => {
      const rest = below(base, path);
      return rest !== null && globs.some((glob) => glob?.matches(rest) ?? false);
    };
  },
  inside: ({ directory }) => {
    const [first, middle] = [`${directory}/`, `/${directory}/`];
    return (path) => path.startsWith(first) || path.includes(middle);
  },
  marked: ({ base, marks }) => {
    return (path) =>
      below(base, path)
        ?.split('/')
        .some((part) => part !== '' && marks.includes(part.charAt(0))) ?? false;
  },
  named: ({ names }) => {
    const all = new Set(names);
    return (path) => all.has(nameOf(path));
  },
  stem: ({ stem }) => {
    return (path) => nameOf(path).split('.')[0] === stem;
  },
  dated: () => (path) => dated.test(nameOf(path)),
  excluded: (layout) => (path) => isExcluded(path, layout),
  union: ({ of }) => {
    const all = of.map(membership);
    return (path) => all.some((holds) => holds(path));
  },
  intersection: ({ of }) => {
    const all = of.map(membership);
    return (path) => all.every((holds) => holds(path));
  },
  difference: ({ of, without: others }) => {
    const [holds, rest] = [membership(of), others.map(membership)];
    return (path) => holds(path) && !rest.some((other) => other(path));
  },
};

/** Compiles a set into the question whether a path is in it. */
export function membership(set: PathSet): Membership {
  // The table has a compiler of each kind for sets of that kind, which the type of an access by `kind` cannot say.
  const compile = compilers[set.kind] as (set: PathSet) => Membership;
  return compile(set);
}
