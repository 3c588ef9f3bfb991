import { DomainError } from '../../kernel/errors.ts';
import type { Warning } from './schema/schema.schema.ts';

/** Which languages a site has and how a path tells them. */
export interface LocaleRules {
  codes: readonly string[];
  default: string | null;
  placement: 'directory' | 'suffix';
  /** Entries of the default locale carry no mark. */
  default_unmarked: boolean;
}

interface SlugRules {
  /** Without dots, the preferred one first. */
  extensions: readonly string[];
  /** Names that stand for their directory, the preferred one first. */
  index_names: readonly string[];
  locales: LocaleRules | null;
}

/** What slugs need to know of a collection; `path` is its directory (`''` is the repository root). */
export interface SlugCollection {
  collection: string;
  path: string;
  slugs: SlugRules;
  matches(path: string): boolean;
}

/** A path by the parts slugs are made of. */
interface Named {
  path: string;
  relative: string;
  stem: string;
  extension: string;
}

/** Takes a path apart. */
export function nameIn(collection: SlugCollection, path: string): Named {
  const relative = collection.path === '' ? path : path.slice(collection.path.length + 1);
  const slash = relative.lastIndexOf('/');
  const dot = relative.lastIndexOf('.');
  // A leading dot is part of the name, as in `.well-known`.
  const cut = dot > slash + 1 ? dot : relative.length;
  return { path, relative, stem: relative.slice(0, cut), extension: relative.slice(cut + 1).toLowerCase() };
}

/** `a/index` → `a`, `index` → `index`, anything else → null. */
export function foldIndex(stem: string, indexNames: readonly string[]): string | null {
  const slash = stem.lastIndexOf('/');
  if (!indexNames.includes(stem.slice(slash + 1))) return null;
  return slash === -1 ? 'index' : stem.slice(0, slash);
}

/** Two mappings of one path to its language: `fr/a` and `a.fr` → `['fr', 'a']`. */
function splitLocale(stem: string, rules: LocaleRules): [string, string] | null {
  const slash = stem.indexOf('/');
  if (slash > 0 && rules.codes.includes(stem.slice(0, slash))) return [stem.slice(0, slash), stem.slice(slash + 1)];
  const dot = stem.lastIndexOf('.');
  const code = stem.slice(dot + 1);
  return dot > stem.lastIndexOf('/') + 1 && rules.codes.includes(code) ? [code, stem.slice(0, dot)] : null;
}

export interface PathOptions {
  /** An extension of the collection (`mdx`), or a metadata language, which does not change the path of a Markdown file. */
  format?: string;
  /** The whole path, from the repository root. */
  path?: string;
  locale?: string;
}

function localise(slug: string, locale: string | undefined, rules: LocaleRules | null): string {
  if (locale === undefined) return slug;
  if (rules === null || !rules.codes.includes(locale)) {
    throw new DomainError('invalid_name', `The site has no locale "${locale}"`);
  }
  if (splitLocale(slug, rules)?.[0] === locale || (locale === rules.default && rules.default_unmarked)) return slug;
  return rules.placement === 'directory' ? `${locale}/${slug}` : `${slug}.${locale}`;
}

/**
 * The file a new entry of this slug is written to: the collection's first extension under which its pattern accepts the path,
 * plain (`a.md`) before directory (`a/index.md`).
 * @param slug already checked for the forms that are never a path (`..`, empty segments …)
 * @throws DomainError `invalid_name` when the collection can hold no file of that name, format or path
 */
export function pathForSlug(collection: SlugCollection, slug: string, options: PathOptions = {}): string {
  if (options.path !== undefined) {
    if (collection.matches(options.path)) return options.path;
    throw new DomainError('invalid_name', `"${options.path}" is not a path of collection "${collection.collection}"`);
  }
  const { extensions, index_names, locales } = collection.slugs;
  const marked = localise(slug, options.locale, locales);
  const format = options.format?.toLowerCase();
  const candidates = format !== undefined && extensions.includes(format) ? [format] : extensions;
  const stems = [marked, ...index_names.slice(0, 1).map((index) => `${marked}/${index}`)];
  for (const stem of stems) {
    for (const extension of candidates) {
      const path = `${collection.path === '' ? '' : `${collection.path}/`}${stem}.${extension}`;
      if (collection.matches(path)) return path;
    }
  }
  throw new DomainError('invalid_name', `Collection "${collection.collection}" has no place for "${slug}"`);
}

interface SlugAssignment {
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

/** What files of a collection are called, with a warning for each that keeps more of its name. */
interface SlugAssignments {
  /** In the order of the paths. */
  entries: SlugAssignment[];
  warnings: Warning[];
}

/**
 * Gives each file of a collection its slug: without extension, a trailing index folded into its directory. The mapping is one to
 * one and does not depend on the order of `paths`. A file that would collide keeps more of its name, and a warning says so.
 * @param paths paths from the repository root, all inside the collection
 */
export function assignSlugs(collection: SlugCollection, paths: readonly string[]): SlugAssignments {
  const steps = slugSteps(collection, paths);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The same in steps, between which the caller may give way: a collection may have 200,000 files. */
export function* slugSteps(
  collection: SlugCollection,
  paths: readonly string[],
): Generator<undefined, SlugAssignments, undefined> {
  const rules = collection.slugs;
  const files: Named[] = [];
  const whole = new Set<string>();
  const winners = new Map<string, Named>();
  for (const path of paths) {
    yield;
    const file = nameIn(collection, path);
    files.push(file);
    whole.add(file.relative);
    const rival = winners.get(file.stem);
    if (rival === undefined || beats(file, rival, rules.extensions)) winners.set(file.stem, file);
  }
  const folded = new Map<string, Named>();
  for (const file of winners.values()) {
    yield;
    const short = foldIndex(file.stem, rules.index_names);
    // A stem of that name, even one that is itself folded away, keeps the shorter slug: so the outcome has no chains.
    if (short === null || (short !== file.stem && winners.has(short))) continue;
    const rival = folded.get(short);
    if (rival === undefined || foldsBefore(file, rival, rules)) folded.set(short, file);
  }
  const warnings: Warning[] = [];
  const entries: SlugAssignment[] = [];
  for (const file of files) {
    yield;
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
    entries.push({ slug, path: file.path, ...translation(file, slug, rules) });
  }
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
