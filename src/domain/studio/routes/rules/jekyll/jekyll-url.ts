import type { Frontmatter } from '../../../frontmatter/types.ts';
import { dayNames, isoWeek, monthNames, pad, yearDay } from '../dates.ts';
import { slugify } from './jekyll-names.ts';

/** What the placeholders of a permalink stand for. */
export interface Placeholders {
  collection: string;
  /** Path in the collection, or of a page its directory, without extension. */
  path: string;
  /** File name without extension and date. */
  basename: string;
  slug: string;
  categories: readonly string[];
  date: Date | null;
  extension: string;
}

function datePlaceholder(name: string, date: Date): string | undefined {
  const month = monthNames[date.getUTCMonth()] ?? '';
  const day = dayNames[date.getUTCDay()] ?? '';
  const week = isoWeek(date);
  const values: Record<string, string> = {
    year: pad(date.getUTCFullYear(), 4),
    short_year: pad(date.getUTCFullYear() % 100),
    month: pad(date.getUTCMonth() + 1),
    i_month: String(date.getUTCMonth() + 1),
    short_month: month.slice(0, 3),
    long_month: month,
    day: pad(date.getUTCDate()),
    i_day: String(date.getUTCDate()),
    y_day: pad(yearDay(date), 3),
    week: pad(week.week),
    w_year: String(week.year),
    w_day: String(date.getUTCDay() || 7),
    short_day: day.slice(0, 3),
    long_day: day,
    hour: pad(date.getUTCHours()),
    minute: pad(date.getUTCMinutes()),
    second: pad(date.getUTCSeconds()),
  };
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function placeholder(name: string, values: Placeholders): string | undefined {
  switch (name) {
    case 'collection':
      return values.collection;
    case 'path':
      return values.path;
    case 'basename':
      return values.basename;
    case 'name':
      return slugify(values.basename);
    case 'title':
      return slugify(values.slug, { keepCase: true, pretty: true });
    case 'slug':
      return slugify(values.slug);
    case 'categories':
      return [...new Set(values.categories.map((one) => one.toLowerCase()))].join('/');
    case 'slugified_categories':
      return [...new Set(values.categories.map((one) => slugify(one)))].join('/');
    case 'output_ext':
      return values.extension;
    default:
      return values.date === null ? undefined : datePlaceholder(name, values.date);
  }
}

/** A permalink with its placeholders replaced: the longest known name wins, as in `:year:month` and `:title.html`. */
export function expandPermalink(template: string, values: Placeholders): string {
  const expanded = template.replace(/:([a-z_]+)/g, (whole, name: string) => {
    for (let end = name.length; end > 0; end--) {
      const value = placeholder(name.slice(0, end), values);
      if (value !== undefined) return value + name.slice(end);
    }
    return whole;
  });
  return `/${expanded}`
    .replaceAll('..', '/')
    .replaceAll('./', '')
    .replace(/\/{2,}/g, '/');
}

/** `category`, else `categories`, each one text or a list; a text of several words is several. */
export function categoriesOf(frontmatter: Frontmatter): string[] {
  const { category, categories } = frontmatter;
  const texts = (value: unknown, split: boolean): string[] =>
    Array.isArray(value)
      ? value.flatMap((one) => texts(one, false))
      : typeof value === 'string'
        ? split
          ? value.split(/\s+/).filter(Boolean)
          : [value]
        : typeof value === 'number'
          ? [String(value)]
          : [];
  return [...texts(categories, true), ...texts(category, false)];
}
