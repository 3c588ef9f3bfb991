import type { Warning } from './schema/schema.schema.ts';
import { foldIndex, type Named, nameIn, type SlugCollection, type SlugRules, splitLocale } from './slug.ts';

export interface SlugAssignment {
  slug: string;
  path: string;
  locale?: string;
  translation_key?: string;
}

const rank = (list: readonly string[], value: string) => {
  const at = list.indexOf(value);
  return at === -1 ? list.length : at;
};

function translation(
  { stem }: Named,
  slug: string,
  rules: SlugRules,
): Pick<SlugAssignment, 'locale' | 'translation_key'> {
  if (rules.locales === null) return {};
  const found = splitLocale(stem, rules.locales);
  if (found) return { locale: found[0], translation_key: foldIndex(found[1], rules.index_names) ?? found[1] };
  const { default: fallback, default_unmarked } = rules.locales;
  // Where the default language is marked too, a file without a mark is in none.
  return fallback === null || !default_unmarked
    ? { translation_key: slug }
    : { locale: fallback, translation_key: slug };
}

/**
 * Gives each file of a collection its slug: without extension, a trailing index folded into its directory. The mapping is one to
 * one and does not depend on the order of `paths`. A file that would collide keeps more of its name, and a warning says so.
 * @param paths paths from the repository root, all inside the collection
 * @returns assignments in the order of `paths`
 */
export function assignSlugs(
  collection: SlugCollection,
  paths: readonly string[],
): { entries: SlugAssignment[]; warnings: Warning[] } {
  const rules = collection.slugs;
  const files = paths.map((path) => nameIn(collection, path));
  const whole = new Set(files.map((file) => file.relative));
  const winners = new Map<string, Named>();
  for (const file of files) {
    const rival = winners.get(file.stem);
    if (rival === undefined || beats(file, rival, rules.extensions)) winners.set(file.stem, file);
  }
  const folded = new Map<string, Named>();
  for (const file of winners.values()) {
    const short = foldIndex(file.stem, rules.index_names);
    // A stem of that name, even one that is itself folded away, keeps the shorter slug: so the outcome has no chains.
    if (short === null || (short !== file.stem && winners.has(short))) continue;
    const rival = folded.get(short);
    if (rival === undefined || foldsBefore(file, rival, rules)) folded.set(short, file);
  }
  const warnings: Warning[] = [];
  const entries = files.map((file): SlugAssignment => {
    const short = foldIndex(file.stem, rules.index_names);
    let slug = file.stem;
    // `a.md.md` beside `a.md`: the stem of the first is the full name of the second, which that one may need for itself.
    if (winners.get(file.stem) !== file || (whole.has(file.stem) && file.stem !== file.relative)) slug = file.relative;
    else if (short !== null && folded.get(short) === file) slug = short;
    const wanted = short ?? file.stem;
    if (slug !== wanted) {
      const message = `${file.path} keeps the slug "${slug}", because another file has "${wanted}"`;
      warnings.push({ code: 'slug_collision', message, path: file.path, collection: collection.collection });
    }
    return { slug, path: file.path, ...translation(file, slug, rules) };
  });
  return { entries, warnings };
}

/** Of one directory the preferred index name; the root's index before that of a directory called `index`. */
function foldsBefore(file: Named, rival: Named, { index_names }: SlugRules): boolean {
  const depth = ({ stem }: Named) => stem.split('/').length;
  const leaf = ({ stem }: Named) => rank(index_names, stem.slice(stem.lastIndexOf('/') + 1));
  return (depth(file) - depth(rival) || leaf(file) - leaf(rival)) < 0;
}

function beats(file: Named, rival: Named, extensions: readonly string[]): boolean {
  const difference = rank(extensions, file.extension) - rank(extensions, rival.extension);
  return difference === 0 ? file.relative < rival.relative : difference < 0;
}
