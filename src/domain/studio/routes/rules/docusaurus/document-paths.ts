import type { Frontmatter } from '../../../frontmatter/types.ts';
import { directoryOf, nameOf, urlPath, withoutExtension } from '../paths.ts';

const dateLike = /^(\d{2}|\d{4})[-_.]\d{2}([-_.](\d{2}|\d{4}))?(.*)$/;
const versionLike = /^\d+[-_.]\d+.*$/;
const numbered = /^\d+\s*[-_.]+\s*([^-_.\s].*)$/;

/** `01-intro` → `intro`; dates and versions keep their numbers. */
function stripNumber(name: string): string {
  if (dateLike.test(name) || versionLike.test(name)) return name;
  return numbered.exec(name)?.[1] ?? name;
}

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** Path of a document below the route of its version. */
export function documentPath(rest: string, frontmatter: Frontmatter, strips: boolean): string {
  const strip = (name: string) => (strips ? stripNumber(name) : name);
  const directory = directoryOf(rest).split('/').filter(Boolean).map(strip).join('/');
  const slug = textOf(frontmatter.slug);
  if (slug !== undefined) return slug.startsWith('/') ? urlPath(slug) : urlPath(directory, slug);
  const written = withoutExtension(nameOf(rest));
  const parent = nameOf(directoryOf(rest));
  const own = textOf(frontmatter.id);
  const isIndex =
    /^(index|readme)$/i.test(written) || (parent !== '' && written.toLowerCase() === parent.toLowerCase());
  if (isIndex && own === undefined) return directory === '' ? '/' : urlPath(directory, '/');
  return urlPath(directory, own ?? strip(written));
}

const datedPost = /^(.*?)(\d{4}[-/]\d{1,2}[-/]\d{1,2})[-/]?(.*?)(?:\/index)?\.mdx?$/;

/** Path of a blog post below the route of the blog. */
export function postPath(rest: string, frontmatter: Frontmatter): string {
  const slug = textOf(frontmatter.slug);
  if (slug !== undefined) return urlPath(slug);
  const [, folder = '', date, text = ''] = datedPost.exec(rest) ?? [];
  if (date === undefined) return urlPath(rest.replace(/(?:\/index)?\.mdx?$/, ''));
  return urlPath(date.replaceAll('-', '/'), folder + text);
}
