import type { SchemaField } from './schema.schema.ts';
import { enumOf, field, listOf, unionOf } from './zod/field-algebra.ts';

/** Frontmatter that frameworks understand by themselves, as their references document it. All of it may be left out. */
type Shape = Record<string, SchemaField>;

const fieldsOf = (shape: Shape): SchemaField[] =>
  Object.entries(shape).map(([name, one]) => ({ ...one, name, required: false, nullable: true }));
const object = (shape: Shape) => field('object', { fields: fieldsOf(shape) });
const list = (one: SchemaField) => listOf(one) ?? field('any', { list: true });
const or = (...alternatives: SchemaField[]) => unionOf(alternatives);

const text = field('string');
const flag = field('boolean');
const any = field('any');
const number = field('number');
/** Whatever a date can be made of. */
const date = field('date', { coerce: true });
/** A list, though one value is understood too. */
const words = field('string', { list: true, coerce: true });
const level = field('integer', { min: 1, max: 6 });

export const nuxtPage = fieldsOf({
  title: text,
  description: text,
  seo: field('object'),
  navigation: or(flag, field('object')),
});

export const hugoPage = fieldsOf({
  title: text,
  linkTitle: text,
  date,
  publishDate: date,
  lastmod: date,
  expiryDate: date,
  draft: flag,
  description: text,
  summary: text,
  weight: field('integer', { coerce: true }),
  slug: text,
  url: text,
  aliases: words,
  keywords: words,
  layout: text,
  type: text,
  translationKey: text,
  headless: flag,
  isCJKLanguage: flag,
  markup: text,
  menus: any,
  outputs: words,
  resources: list(object({ src: text, name: text, title: text, params: field('object') })),
  params: field('object'),
  cascade: any,
});

export const jekyllPage = fieldsOf({
  layout: text,
  title: text,
  permalink: text,
  published: flag,
});
export const jekyllPost = [
  ...jekyllPage,
  ...fieldsOf({ date, categories: words, category: text, tags: words, excerpt: text, excerpt_separator: text }),
];

export const hexoPage = fieldsOf({
  title: text,
  date: { ...date, type: 'datetime' },
  updated: { ...date, type: 'datetime' },
  layout: or(text, flag),
  permalink: text,
  comments: flag,
  lang: text,
  disableNunjucks: flag,
});
export const hexoPost = [
  ...hexoPage,
  ...fieldsOf({ categories: any, tags: words, published: flag, excerpt: text, photos: words }),
];

const tag = or(text, object({ label: text, permalink: text }));
const update = or(object({ date: any, author: any }), flag);
const docusaurusShared: Shape = {
  title: text,
  title_meta: text,
  description: text,
  slug: text,
  keywords: words,
  image: field('image'),
  draft: flag,
  unlisted: flag,
  hide_table_of_contents: flag,
  toc_min_heading_level: level,
  toc_max_heading_level: level,
};
export const docusaurusDoc = fieldsOf({
  id: text,
  ...docusaurusShared,
  hide_title: flag,
  sidebar_label: text,
  sidebar_position: number,
  sidebar_class_name: text,
  sidebar_key: text,
  sidebar_custom_props: field('object'),
  displayed_sidebar: text,
  pagination_label: text,
  pagination_next: text,
  pagination_prev: text,
  parse_number_prefixes: flag,
  custom_edit_url: text,
  tags: list(tag),
  last_update: update,
});
export const docusaurusPost = fieldsOf({
  ...docusaurusShared,
  date: { ...date, type: 'datetime' },
  authors: any,
  tags: list(tag),
  sidebar_label: text,
  last_update: update,
});
export const docusaurusPage = fieldsOf({ ...docusaurusShared, wrapperClassName: text });

const vitepressLink = or(text, flag, object({ text, link: text }));
export const vitepressPage = fieldsOf({
  title: text,
  titleTemplate: or(text, flag),
  description: text,
  head: field('any', { list: true }),
  layout: or(text, flag),
  navbar: flag,
  sidebar: flag,
  aside: or(flag, enumOf(['left'])),
  outline: any,
  lastUpdated: or(flag, date),
  editLink: flag,
  footer: flag,
  prev: vitepressLink,
  next: vitepressLink,
  pageClass: text,
  isHome: flag,
  hero: object({
    name: text,
    text,
    tagline: text,
    image: any,
    actions: list(object({ theme: text, text, link: text, target: text, rel: text })),
  }),
  features: list(
    object({ icon: any, title: text, details: text, link: text, linkText: text, rel: text, target: text }),
  ),
  markdownStyles: flag,
});

export const eleventyPage = fieldsOf({
  title: text,
  layout: text,
  permalink: any,
  tags: words,
  date,
  pagination: field('object'),
  templateEngineOverride: or(text, flag),
  eleventyExcludeFromCollections: or(flag, text, words),
  eleventyComputed: any,
  eleventyImport: field('object'),
  eleventyNavigation: or(
    flag,
    object({ key: text, title: text, parent: text, order: number, url: text, excerpt: text }),
  ),
});
