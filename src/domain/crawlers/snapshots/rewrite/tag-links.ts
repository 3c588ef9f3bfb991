const isSpace = (character: string) => /^[\t\n\f\r ]$/.test(character);

/** End of the descriptors that begin at a position: the comma behind them, which does not count inside parentheses, or the end. */
function afterDescriptors(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth = Math.max(depth - 1, 0);
    else if (text[at] === ',' && depth === 0) return at;
  }
  return text.length;
}

/** Rewrites the URLs of a `srcset` (HTML 4.8.4.2.1), which may hold commas themselves; everything else stays. */
export function rewriteSrcset(text: string, map: (url: string) => string | null): string {
  let written = '';
  let at = 0;
  while (at < text.length) {
    const from = at;
    while (at < text.length && (isSpace(text[at] ?? '') || text[at] === ',')) at += 1;
    const start = at;
    while (at < text.length && !isSpace(text[at] ?? '')) at += 1;
    let end = at;
    while (end > start && text[end - 1] === ',') end -= 1;
    const url = text.slice(start, end);
    written += text.slice(from, start) + (url === '' ? '' : (map(url) ?? url));
    // A comma at the end of a URL ends the candidate; it has no descriptors then.
    if (end === at) at = afterDescriptors(text, at);
    written += text.slice(end, at);
  }
  return written;
}

/** An attribute of a tag with its value in real characters. */
export interface Attribute {
  name: string;
  value: string;
}

export interface TagRewriting {
  map(link: string): string | null;
  mapBase(link: string): string | null;
  css(text: string): string;
}

const urlNames = new Set([
  'href',
  'xlink:href',
  'src',
  'action',
  'formaction',
  'poster',
  'background',
  'cite',
  'longdesc',
  'manifest',
  'data-src',
]);
const srcsetNames = new Set(['srcset', 'imagesrcset', 'data-srcset']);
const picturesOfMeta = new Set([
  'og:image',
  'og:image:url',
  'og:image:secure_url',
  'twitter:image',
  'twitter:image:src',
]);

/** `5; url=/next`, as HTML reads it (4.2.5.3): what leads on is mapped. */
function rewriteRefresh(value: string, map: TagRewriting['map']): string | null {
  const [, before = '', quote = '', link = ''] =
    /^(\s*(?:[\d.]+[\s;,]*|[;,][\s;,]*)?url\s*=\s*)(["']?)(.*)/is.exec(value) ?? [];
  if (before === '') return null;
  const closing = quote === '' ? -1 : link.indexOf(quote);
  const mapped = map((closing < 0 ? link : link.slice(0, closing)).trim());
  return mapped === null ? null : before + mapped;
}

/** How the `content` of a meta element leads on; null: it does not. */
function leadOf(attributes: readonly Attribute[]): 'refresh' | 'picture' | null {
  const of = (name: string) =>
    attributes
      .find((each) => each.name === name)
      ?.value.trim()
      .toLowerCase();
  if (of('http-equiv') === 'refresh') return 'refresh';
  return picturesOfMeta.has(of('property') ?? of('name') ?? '') ? 'picture' : null;
}

function rewriteValue(
  tag: string,
  lead: ReturnType<typeof leadOf>,
  { name, value }: Attribute,
  by: TagRewriting,
): string | null {
  if (tag === 'base') return name === 'href' ? by.mapBase(value) : null;
  if (name === 'style') return by.css(value);
  if (srcsetNames.has(name)) return rewriteSrcset(value, by.map);
  if (tag === 'meta') {
    if (name !== 'content' || lead === null) return null;
    return lead === 'refresh' ? rewriteRefresh(value, by.map) : by.map(value);
  }
  if (name === 'ping')
    return value
      .split(/\s+/)
      .map((link) => by.map(link) ?? link)
      .join(' ');
  return urlNames.has(name) || (name === 'data' && tag === 'object') ? by.map(value) : null;
}

/** Sheets may be rewritten themselves, and a browser would not take them for what their hash was made of. */
const isSheet = (tag: string, attributes: readonly Attribute[]) =>
  tag === 'link' &&
  attributes.some(({ name, value }) => (name === 'rel' && /stylesheet|preload/i.test(value)) || name === 'as');

/** A policy that names the hosts of the site would keep its files out when they come from another one. */
const isPolicy = (tag: string, attributes: readonly Attribute[]) =>
  tag === 'meta' &&
  attributes.some(({ name, value }) => name === 'http-equiv' && /^\s*content-security-policy\s*$/i.test(value));

/**
 * What becomes of the attributes of a tag.
 * @returns `remove` for the whole tag; else the new value of each attribute, in order: null where it stays, undefined where it goes
 */
export function rewriteTag(
  tag: string,
  attributes: readonly Attribute[],
  by: TagRewriting,
): 'remove' | (string | null | undefined)[] {
  if (isPolicy(tag, attributes)) return 'remove';
  const seals = isSheet(tag, attributes);
  // Once for the tag: it may have a hundred thousand attributes.
  const lead = tag === 'meta' ? leadOf(attributes) : null;
  return attributes.map((each) => {
    if (seals && each.name === 'integrity') return undefined;
    const value = rewriteValue(tag, lead, each, by);
    return value === each.value ? null : value;
  });
}
