import type { CollectionIndex } from '../content/collection-index.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import { joinPath } from '../schema/site-layout.ts';
import type { SiteRoutes } from './read-routes.ts';
import type { RoutePattern } from './routes.schema.ts';

/** Names that no site has: what becomes of them tells how addresses are made. */
const probe = { slug: 'portico-probe', year: '2917', month: '10', day: '29', title: 'portico-title' };
const date = `${probe.year}-${probe.month}-${probe.day}`;
/** Fields that decide about a page instead of being part of its address. */
const deciding = new Set([
  'slug',
  'url',
  'permalink',
  'id',
  'draft',
  'layout',
  'category',
  'categories',
  'tags',
  'date',
]);

const fieldProbe = (name: string) => `portico-field-${name.toLowerCase().replace(/[^a-z0-9]/g, '')}`;

/** Frontmatter whose every text can be recognised in an address. */
function probeFrontmatter({ fields }: CollectionSchema): Record<string, unknown> {
  const texts = fields.filter(({ name, type, list }) => !list && !deciding.has(name) && type === 'string');
  return { ...Object.fromEntries(texts.map(({ name }) => [name, fieldProbe(name)])), title: probe.title, date };
}

/** The address of a file that is not there, with names in the place of what was made up for it; null when it would be no page. */
function probeUrl(routes: SiteRoutes, schema: CollectionSchema, stem: string): string | null {
  const frontmatter = probeFrontmatter(schema);
  for (const extension of schema.extensions) {
    const path = joinPath(schema.path, `${stem}.${extension}`);
    const url = schema.matches(path) ? routes.urlOf({ path, frontmatter }) : null;
    if (url === null) continue;
    const named = schema.fields.reduce((text, { name }) => text.replaceAll(fieldProbe(name), `{${name}}`), url);
    return named
      .replace(date, '{year}-{month}-{day}')
      .replaceAll(probe.slug, '{slug}')
      .replaceAll(probe.title, '{title}')
      .replace(new RegExp(`(?<![\\w])${probe.year}(?![\\w])`), '{year}')
      .replace(new RegExp(`(?<![\\w])${probe.month}(?![\\w])`), '{month}')
      .replace(new RegExp(`(?<![\\w])${probe.day}(?![\\w])`), '{day}');
  }
  return null;
}

/** The pattern of a collection, as the site's rule has it; null when its entries are no pages. */
export function patternOf(routes: SiteRoutes, { schema, entries }: CollectionIndex): RoutePattern | null {
  const url_pattern =
    probeUrl(routes, schema, probe.slug) ??
    probeUrl(routes, schema, `${date}-${probe.slug}`) ??
    probeUrl(routes, schema, `${probe.slug}/index`);
  const evidence = routes.evidenceOf(entries[0]?.path ?? joinPath(schema.path, `x.${schema.extensions[0]}`));
  if (url_pattern === null || evidence === null) return null;
  const index = probeUrl(routes, schema, `${probe.slug}/index`);
  const [first] = entries;
  const one = first?.locale !== undefined && entries.every(({ locale }) => locale === first.locale);
  const many = schema.extensions.length > 1;
  return {
    collection: schema.collection,
    content_glob: joinPath(schema.path, `**/*.${many ? `{${schema.extensions.join(',')}}` : schema.extensions[0]}`),
    url_pattern,
    index_rule: index === null || !/index/.test(index) ? 'directory' : 'file',
    trailing_slash: url_pattern.endsWith('/'),
    ...(one && { locale: first.locale }),
    confidence: evidence.confidence,
    source: evidence.source,
  };
}
