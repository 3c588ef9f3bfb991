/** Which languages a site has and how a path tells them. */
export interface LocaleRules {
  codes: readonly string[];
  default: string | null;
  placement: 'directory' | 'suffix';
  /** Entries of the default locale carry no mark. */
  default_unmarked: boolean;
}

export interface SlugRules {
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
export interface Named {
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
export function splitLocale(stem: string, rules: LocaleRules): [string, string] | null {
  const slash = stem.indexOf('/');
  if (slash > 0 && rules.codes.includes(stem.slice(0, slash))) return [stem.slice(0, slash), stem.slice(slash + 1)];
  const dot = stem.lastIndexOf('.');
  const code = stem.slice(dot + 1);
  return dot > stem.lastIndexOf('/') + 1 && rules.codes.includes(code) ? [code, stem.slice(0, dot)] : null;
}
