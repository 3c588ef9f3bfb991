import { DomainError } from '../errors.ts';
import { type LocaleRules, type SlugCollection, splitLocale } from './slug.ts';

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
  const asked = format !== undefined && extensions.includes(format) ? [format] : extensions;
  const stems = [marked, ...index_names.slice(0, 1).map((index) => `${marked}/${index}`)];
  for (const stem of stems) {
    for (const extension of asked) {
      const path = `${collection.path === '' ? '' : `${collection.path}/`}${stem}.${extension}`;
      if (collection.matches(path)) return path;
    }
  }
  throw new DomainError('invalid_name', `Collection "${collection.collection}" has no place for "${slug}"`);
}
