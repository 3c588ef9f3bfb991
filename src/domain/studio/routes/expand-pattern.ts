import type { Frontmatter } from '../frontmatter/types.ts';
import type { RoutePattern } from './routes.schema.ts';
import { pad, readDate } from './rules/dates.ts';
import { encodePath, nameOf, urlPath } from './rules/paths.ts';

/** What a pattern's names stand for. */
export interface PatternEntry {
  slug: string;
  locale?: string;
  frontmatter: Frontmatter;
}

function dateParts({ slug, frontmatter }: PatternEntry): Record<string, string> {
  const inName = /^\d{4}-\d{2}-\d{2}/.exec(nameOf(slug))?.[0];
  const date = (readDate(frontmatter.date) ?? readDate(inName))?.wall;
  if (!date) return {};
  return {
    year: String(date.getUTCFullYear()),
    month: pad(date.getUTCMonth() + 1),
    day: pad(date.getUTCDate()),
  };
}

function fieldText(frontmatter: Frontmatter, name: string): string | undefined {
  const value = Object.hasOwn(frontmatter, name) ? frontmatter[name] : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/**
 * The address of an entry by a pattern alone, percent-encoded; undefined when a name in it has no value. Different slugs give different
 * addresses wherever the pattern holds `{slug}` once.
 */
export function expandPattern(
  { url_pattern, index_rule }: Pick<RoutePattern, 'url_pattern' | 'index_rule'>,
  entry: PatternEntry,
): string | undefined {
  const dates = dateParts(entry);
  let complete = true;
  const path = url_pattern.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    if (name === 'slug') return index_rule === 'directory' && entry.slug === 'index' ? '' : entry.slug;
    const value = name === 'locale' ? entry.locale : (dates[name] ?? fieldText(entry.frontmatter, name));
    if (value === undefined) complete = false;
    return value ?? '';
  });
  return complete ? encodePath(urlPath(path)) : undefined;
}
