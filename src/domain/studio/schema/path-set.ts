import { tally } from '../../../ports/tally.ts';
import { compileGlob, Steps } from './glob.ts';
import { below, extensionOf, isExcluded, joinPath } from './site-layout.ts';

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
  | { kind: 'excluded'; root: string; given: boolean; framework: string | null }
  | { kind: 'union'; of: readonly PathSet[] }
  | { kind: 'intersection'; of: readonly PathSet[] }
  | { kind: 'difference'; of: PathSet; without: readonly PathSet[] };

export type Membership = (path: string) => boolean;
type Holds = (path: string, steps: Steps) => boolean;

export const noPaths: PathSet = { kind: 'union', of: [] };

export const union = (...of: PathSet[]): PathSet => (of.length === 1 && of[0] ? of[0] : { kind: 'union', of });

const packages: PathSet = { kind: 'inside', directory: 'node_modules' };

/** A set less others, and less what packages brought. */
export const without = (of: PathSet, ...others: PathSet[]): PathSet => ({
  kind: 'difference',
  of,
  without: [packages, ...others],
});

/** Whether a set names a path as a file, beside whatever patterns it has; files that were only found by a pattern are not named by it. */
export function lists(set: PathSet, path: string): boolean {
  if (set.kind === 'listed') return set.paths.includes(path);
  if (set.kind === 'difference') return lists(set.of, path);
  return set.kind === 'union' && set.of.some((one) => lists(one, path));
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const dated = /^\d{2,4}-\d{1,2}-\d{1,2}-./;

let measured = { path: '', depth: 0 };
/** How many directories a path lies in. The last one is remembered: a path is compared with many collections in a row. */
function depthOf(path: string): number {
  if (measured.path === path) return measured.depth;
  let depth = 0;
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) depth++;
  measured = { path, depth };
  return depth;
}

type Compilers = { [Kind in PathSet['kind']]: (set: Extract<PathSet, { kind: Kind }>) => Holds };

const compilers: Compilers = {
  listed: ({ paths }) => {
    const all = new Set(paths);
    return (path) => all.has(path);
  },
  folder: ({ base, extensions, depth }) => {
    const prefix = base === '' ? '' : `${base}/`;
    const known = extensions && new Set(extensions);
    const deepest = depth === undefined ? Number.POSITIVE_INFINITY : depth + depthOf(prefix);
    return (path) =>
      path.startsWith(prefix) &&
      (known === undefined || known.has(extensionOf(path))) &&
      (depth === undefined || depthOf(path) < deepest);
  },
  glob: ({ base, patterns }) => {
    const globs = patterns.map(compileGlob);
    return (path, steps) => {
      const rest = below(base, path);
      return rest !== null && globs.some((glob) => glob?.matches(rest, steps) ?? false);
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
    const all = of.map(compile);
    return (path, steps) => all.some((holds) => holds(path, steps));
  },
  intersection: ({ of }) => {
    const all = of.map(compile);
    return (path, steps) => all.every((holds) => holds(path, steps));
  },
  difference: ({ of, without: others }) => {
    const [holds, rest] = [compile(of), others.map(compile)];
    return (path, steps) => holds(path, steps) && !rest.some((other) => other(path, steps));
  },
};

function compile(set: PathSet): Holds {
  // The table has a compiler of each kind for sets of that kind, which the type of an access by `kind` cannot say.
  const compiler = compilers[set.kind] as (set: PathSet) => Holds;
  return compiler(set);
}

/** Whether a set holds a path. One whose globs cost more than they may is in none: what has been found by then may be only a part of the set. */
function isIn(holds: Holds, path: string, steps: Steps): boolean {
  return holds(path, steps) && !steps.isOver;
}

/** Compiles a set into the question whether a path is in it. */
export function membership(set: PathSet): Membership {
  const holds = compile(set);
  return (path) => isIn(holds, path, new Steps());
}

/** A directory that holds all paths of a set, and the extension they all have; null: they have any. */
interface Place {
  directory: string;
  extension: string | null;
}

const directoryOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('/')));
const anywhere: Place[] = [{ directory: '', extension: null }];

/** Places that hold a set together. */
function placesOf(set: PathSet): Place[] {
  switch (set.kind) {
    case 'listed':
      return set.paths.map((path) => ({ directory: directoryOf(path), extension: extensionOf(path) }));
    case 'folder':
      return (set.extensions ?? [null]).map((extension) => ({ directory: set.base, extension }));
    case 'glob':
      return set.patterns.map((pattern) => {
        const fixed = (compileGlob(pattern)?.prefix ?? '').split('/').filter((part) => part !== '.');
        return { directory: joinPath(set.base, ...fixed), extension: null };
      });
    case 'union':
      return set.of.flatMap(placesOf);
    case 'intersection':
      return set.of.map(placesOf).reduce((one, other) => (narrowness(other) > narrowness(one) ? other : one), anywhere);
    case 'difference':
      return placesOf(set.of);
    default:
      return anywhere;
  }
}

/** How narrow places are: the length of the shortest directory; a tie goes to places with extensions. */
const narrowness = (places: readonly Place[]) =>
  Math.min(...places.map(({ directory, extension }) => directory.length + (extension === null ? 0 : 0.5)));

const keyOf = (directory: string, extension: string | null) =>
  extension === null ? directory : `${directory}\0${extension}`;

/**
 * Sets a path is compared with, the first ones by position, except the sets that list it. A site of 200,000 files with hundreds of collections in one
 * directory would take a minute otherwise; what comes later has no files there.
 */
const mostTogether = 100;

/**
 * Compiles many sets into the question which of them a path is in. A path is compared only with sets that list it, or may have files of its extension
 * in one of its directories: a site declares hundreds of collections, and has 200,000 files.
 * @returns for a path the positions of its sets, the first one first, at most as many as are wanted
 */
export function placing(sets: readonly PathSet[]): (path: string, most?: number) => number[] {
  const holds = sets.map(compile);
  const byPlace = new Map<string, Set<number>>();
  const listed = new Map<string, number[]>();
  let longest = 0;
  for (const [at, set] of sets.entries()) {
    if (set.kind === 'listed') {
      for (const path of new Set(set.paths)) listed.set(path, [...(listed.get(path) ?? []), at]);
      continue;
    }
    for (const { directory, extension } of placesOf(set)) {
      const key = keyOf(directory, extension);
      byPlace.set(key, (byPlace.get(key) ?? new Set()).add(at));
      longest = Math.max(longest, directory.length);
    }
  }
  const candidatesIn = (directory: string, extension: string) => {
    const found = new Set<number>();
    for (let end = directory.length; ; end = Math.max(0, directory.lastIndexOf('/', end - 1))) {
      const outer = directory.slice(0, end);
      for (const key of end > longest ? [] : [keyOf(outer, null), keyOf(outer, extension)]) {
        for (const at of byPlace.get(key) ?? []) found.add(at);
      }
      if (end === 0) return [...found].sort((a, b) => a - b).slice(0, mostTogether);
    }
  };
  let near = { key: '', candidates: candidatesIn('', '') };
  return (path, most = sets.length) => {
    const [directory, extension] = [directoryOf(path), extensionOf(path)];
    const key = keyOf(directory, extension);
    // Files of a directory mostly come together.
    if (near.key !== key) near = { key, candidates: candidatesIn(directory, extension) };
    const naming = listed.get(path);
    const candidates = naming ? [...naming, ...near.candidates].sort((a, b) => a - b) : near.candidates;
    const found: number[] = [];
    const steps = new Steps();
    for (const at of candidates) {
      tally.compare.publish(path);
      const one = holds[at];
      if (one && isIn(one, path, steps)) found.push(at);
      if (found.length >= most || steps.isOver) break;
    }
    return found;
  };
}
