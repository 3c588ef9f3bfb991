import { foldIndex, nameIn, type SlugCollection } from '../slug.ts';

interface Placed {
  path: string;
}

/** Where a path is among files in order of their paths, or would be. */
export function lowerBound(files: readonly Placed[], path: string): number {
  let [low, high] = [0, files.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((files[middle]?.path ?? '') < path) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Finds files of a collection by their names, in a list in order of paths: what it takes depends on how many bear the name. */
class Names<F extends Placed> {
  readonly #collection: SlugCollection;
  readonly #files: readonly F[];
  readonly #prefix: string;

  constructor(collection: SlugCollection, files: readonly F[]) {
    this.#collection = collection;
    this.#files = files;
    this.#prefix = collection.path === '' ? '' : `${collection.path}/`;
  }

  /** The file of this name, extension and all. */
  called(relative: string): F[] {
    const path = `${this.#prefix}${relative}`;
    const found = this.#files[lowerBound(this.#files, path)];
    return found?.path === path ? [found] : [];
  }

  /** Files of this name but for their extensions. */
  withStem(stem: string): F[] {
    const hasStem = ({ path }: F) => nameIn(this.#collection, path).stem === stem;
    const found = this.called(stem).filter(hasStem);
    const begin = `${this.#prefix}${stem}.`;
    for (let at = lowerBound(this.#files, begin); ; at++) {
      const file = this.#files[at];
      if (!file?.path.startsWith(begin)) return found;
      if (hasStem(file)) found.push(file);
    }
  }

  /** Files that may stand for a directory: `a/index.md` for `a`. */
  foldingTo(slug: string): F[] {
    const { index_names: names } = this.#collection.slugs;
    const stems = names.flatMap((name) => (slug === 'index' ? [name, `index/${name}`] : [`${slug}/${name}`]));
    return stems.flatMap((stem) => this.withStem(stem));
  }

  folded(stem: string): string | null {
    return foldIndex(stem, this.#collection.slugs.index_names);
  }
}

/** The file with a slug, of a list in order of paths in which all have theirs. */
export function withSlug<F extends Placed & { slug: string }>(
  collection: SlugCollection,
  files: readonly F[],
  slug: string,
): F | undefined {
  const names = new Names(collection, files);
  const isIt = (file: F) => file.slug === slug;
  return names.withStem(slug).find(isIt) ?? names.foldingTo(slug).find(isIt) ?? names.called(slug).find(isIt);
}

/**
 * The files whose slugs may be others because of files that came or went, and beside them all files that decide about those slugs.
 * @param files in order of their paths, as they are now
 * @param moved paths that came or went
 */
export function slugRivals(
  collection: SlugCollection,
  files: readonly Placed[],
  moved: readonly string[],
): { affected: ReadonlySet<string>; deciding: ReadonlySet<string> } {
  const names = new Names(collection, files);
  const affected = new Set<string>();
  for (const path of moved) {
    const { stem, relative } = nameIn(collection, path);
    const short = names.folded(stem);
    const shared = [
      ...names.withStem(stem),
      ...names.foldingTo(stem),
      ...(short === null ? [] : names.foldingTo(short)),
    ];
    // `a.md` may keep `a.md.md` from its stem.
    for (const file of [...shared, ...names.withStem(relative)]) affected.add(file.path);
  }
  const deciding = new Set(affected);
  for (const path of affected) {
    const { stem } = nameIn(collection, path);
    const short = names.folded(stem);
    const rivals = short === null ? [] : [...names.foldingTo(short), ...names.withStem(short)];
    for (const file of [...names.withStem(stem), ...names.called(stem), ...rivals]) deciding.add(file.path);
  }
  return { affected, deciding };
}
