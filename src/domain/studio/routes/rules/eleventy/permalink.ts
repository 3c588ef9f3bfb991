import type { Frontmatter } from '../../../frontmatter/types.ts';
import { githubSlug } from '../astro/slugs.ts';
import { inZone, momentOf, pad, readDate } from '../dates.ts';
import { directoryOf, nameOf } from '../paths.ts';

/** What templates of permalinks are filled with. */
export interface TemplateData {
  /** Path below the input directory without extension. */
  stem: string;
  frontmatter: Frontmatter;
}

const dateBefore = /^\d{4}-\d{2}-\d{2}-(?=.)/;

/** The file's name without a date before it; of an index the directory's. */
function fileSlug(stem: string): string {
  const name = nameOf(stem);
  return (name === 'index' ? nameOf(directoryOf(stem)) : name).replace(dateBefore, '');
}

/** The path without a date before the name; `/index` stays. */
const filePathStem = (stem: string) =>
  `/${[directoryOf(stem), nameOf(stem).replace(dateBefore, '')].filter(Boolean).join('/')}`;

function dateOf({ stem, frontmatter }: TemplateData): Date | null {
  const date = readDate(frontmatter.date) ?? readDate(/^\d{4}-\d{2}-\d{2}(?=-)/.exec(nameOf(stem))?.[0]);
  return date && inZone(momentOf(date), undefined);
}

function lookup(name: string, data: TemplateData): string | Date | null {
  if (name === 'page.fileSlug') return fileSlug(data.stem);
  if (name === 'page.filePathStem') return filePathStem(data.stem);
  if (name === 'page.date' || name === 'date') return dateOf(data);
  const quoted = /^(["'])([^"']*)\1$/.exec(name);
  if (quoted) return quoted[2] ?? '';
  const value = Object.hasOwn(data.frontmatter, name) ? data.frontmatter[name] : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

function strftime(date: Date, format: string): string | null {
  const parts: Record<string, string> = {
    Y: String(date.getUTCFullYear()),
    m: pad(date.getUTCMonth() + 1),
    d: pad(date.getUTCDate()),
    y: pad(date.getUTCFullYear() % 100),
  };
  const text = format.replace(/%([A-Za-z])/g, (whole, letter: string) => parts[letter] ?? whole);
  return /%[A-Za-z]/.test(text) ? null : text;
}

/** The filters that permalinks are made with; null for one that is not known. */
function filter(value: string | Date, text: string): string | null {
  const [, name = '', argument] = /^(\w+)\s*(?::\s*|\(\s*)?(?:["']([^"']*)["'])?\s*\)?$/.exec(text.trim()) ?? [];
  if (name === 'date') return value instanceof Date && argument !== undefined ? strftime(value, argument) : null;
  if (value instanceof Date) return null;
  if (name === 'slugify' || name === 'slug') return slug(value);
  if (name === 'downcase' || name === 'lower') return value.toLowerCase();
  return name === 'url' ? value : null;
}

/** Accents are written without them, and what is no letter or digit goes. */
const slug = (text: string): string =>
  githubSlug(
    text
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .replace(/[\s_/.]+/gu, '-'),
  )
    .replace(/-+/g, '-')
    .replace(/^-|-$/g, '');

/** A permalink with its `{{ … }}` filled in; null when one of them cannot be told. */
export function fillPermalink(template: string, data: TemplateData): string | null {
  let known = !/\{%|\$\{/.test(template);
  const filled = template.replace(/\{\{-?\s*([^{}]*?)\s*-?\}\}/g, (_, expression: string) => {
    const [name = '', ...filters] = expression.split('|');
    let value = lookup(name.trim(), data);
    for (const one of filters) value = value === null ? null : filter(value, one);
    if (typeof value !== 'string') known = false;
    return typeof value === 'string' ? value : '';
  });
  return known && !filled.includes('{{') ? filled : null;
}
