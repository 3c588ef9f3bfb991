import { pointer } from '../../../lib/json-pointer.ts';

/**
 * Marks that a site's own templates leave on its pages to say what an element shows: Portico's, and those that other systems have brought into use.
 *
 *     data-portico-entry="posts/late-frost"                      which entry, by collection and slug or by path
 *     data-portico-field="seo.title" or "/seo/title"             which field of it
 *     data-portico-source="content/posts/late-frost.md:12-14"    which lines of which file
 */

export interface PageMark {
  /** Index of its element, and of the last one within. */
  element: number;
  last: number;
  /** The text that readers see in it, as far as it is looked at. */
  text: string;
  /** The entry it names, or the one that a mark around it does: `collection/slug` or a path. */
  entry: string | null;
  /** JSON Pointer of the field it shows. */
  field: string | null;
  source: { path: string; start_line: number; end_line: number } | null;
}

/** Attributes of an element. */
type Attributes = Readonly<Record<string, string>>;

/** A dotted path of names (`seo.title`, `steps.0.name`, `steps[0].name`) as a JSON Pointer; null where it is none. */
function dotted(path: string): string | null {
  const names = path.replace(/\[(\d+)\]/g, '.$1').split('.');
  return names.every((name) => /^[^\s/]+$/.test(name)) ? pointer(names) : null;
}

function ownField(value: string): string | null {
  return value.startsWith('/') ? value : dotted(value);
}

/** Stackbit: `title`, `posts/a.md:title`, `.name` below the path of an element around it; `#` begins an XPath. */
function stackbitField(value: string, outer: string | null): string | null {
  const [path = ''] = value.trim().split(/[\s#]/, 1);
  const name = path.slice(path.lastIndexOf(':') + 1);
  if (!name.startsWith('.')) return dotted(name);
  const below = dotted(name.slice(1));
  return below && (outer ?? '') + below;
}

/** Tina: the query's id, three dashes, and the path. */
const tinaField = (value: string): string | null =>
  value.includes('---') ? dotted(value.slice(value.lastIndexOf('---') + 3)) : null;

/** Contentstack: content type, entry and language before the path. */
const contentstackField = (value: string): string | null => dotted(value.split('.').slice(3).join('.'));

function sourceOf(value: string): PageMark['source'] {
  const [, path, start, end = start] = /^(.{1,1000}):(\d{1,7})(?:-(\d{1,7}))?$/.exec(value) ?? [];
  return path === undefined ? null : { path, start_line: Number(start), end_line: Number(end) };
}

/** Whether an element has one of the marks. */
export const isMarked = (attributes: Attributes): boolean =>
  Object.keys(attributes).some((name) =>
    /^data-(?:portico-(?:entry|field|source)|sb-(?:field-path|object-id)|tina-field|cslp|cms-field)$/.test(name),
  );

/** What the attributes of an element say. @param outer the mark around it */
export function markOf(attributes: Attributes, outer: PageMark | null): Pick<PageMark, 'entry' | 'field' | 'source'> {
  const {
    'data-portico-entry': entry,
    'data-portico-field': field,
    'data-portico-source': source,
    'data-sb-object-id': object,
    'data-sb-field-path': stackbit,
    'data-tina-field': tina,
    'data-cslp': contentstack,
    'data-cms-field': other,
  } = attributes;
  const fields = [
    field !== undefined && ownField(field),
    stackbit !== undefined && stackbitField(stackbit, outer?.field ?? null),
    tina !== undefined && tinaField(tina),
    contentstack !== undefined && contentstackField(contentstack),
    other !== undefined && dotted(other),
  ];
  return {
    entry: entry ?? object ?? outer?.entry ?? null,
    field: fields.find((one) => typeof one === 'string') || null,
    source: source === undefined ? null : sourceOf(source),
  };
}

/** The one entry that a page's marks name; null where they name none or several. */
export function entryMarked(marks: readonly PageMark[]): string | null {
  const [entry, ...others] = new Set(marks.flatMap(({ entry }) => entry ?? []));
  return entry === undefined || others.length > 0 ? null : entry;
}
