import type { Collector, DocumentBase } from './collector.ts';

/** Longer waits are no redirects but pages that renew themselves, seconds. */
const longestWait = 10;

const blanks = '[\\t\\n\\f\\r ]*';
const form = new RegExp(
  `^${blanks}(?:(\\d+)[\\d.]*|\\.[\\d.]*)(?:${blanks}[;,]${blanks}|[\\t\\n\\f\\r ]+)([\\s\\S]*)$`,
);
const prefix = new RegExp(`^url${blanks}=${blanks}`, 'i');

/**
 * Where a `<meta http-equiv=refresh>` leads (HTML 4.2.5.3).
 * @param content its attribute
 * @returns null when it names no address or waits longer than 10 s
 */
function refreshTarget(content: string): string | null {
  const [, seconds = '0', rest = ''] = form.exec(content) ?? [];
  if (rest === '' || Number(seconds) > longestWait) return null;
  const target = rest.replace(prefix, '');
  const quote = target[0];
  if (quote !== '"' && quote !== "'") return target.trim() || null;
  const end = target.indexOf(quote, 1);
  return target.slice(1, end === -1 ? undefined : end).trim() || null;
}

const isBlank = (code: number) => code === 32 || code === 9 || code === 10 || code === 12 || code === 13;
const comma = 44;

/** Where the descriptors after a URL end: at a comma outside of parentheses. */
function endOfDescriptors(text: string, from: number): number {
  let isInParentheses = false;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '(') isInParentheses = true;
    else if (character === ')') isInParentheses = false;
    else if (character === ',' && !isInParentheses) return at;
  }
  return text.length;
}

/**
 * The addresses of a `srcset` (HTML 4.8.4.2.2): split at blanks, not at commas, which addresses may contain. Those with unusable
 * descriptors are given, too.
 */
export function parseSrcset(text: string): string[] {
  const urls: string[] = [];
  let at = 0;
  const isBetween = (code: number) => isBlank(code) || code === comma;
  while (at < text.length) {
    while (at < text.length && isBetween(text.charCodeAt(at))) at += 1;
    const start = at;
    while (at < text.length && !isBlank(text.charCodeAt(at))) at += 1;
    let end = at;
    while (end > start && text.charCodeAt(end - 1) === comma) end -= 1;
    if (end > start) urls.push(text.slice(start, end));
    // A comma at its end means that the address has no descriptors.
    if (end === at) at = endOfDescriptors(text, at);
  }
  return urls;
}

/** Attributes of an element, names in lower case, the first of a name. */
export type Attributes = Readonly<Record<string, string | undefined>>;

/** Elements whose `src` is needed to show the page. */
const sources = new Set(['img', 'script', 'iframe', 'embed', 'audio', 'video', 'source', 'track', 'input']);

/** Keywords of `rel` whose target is another page. */
const pageRelations = new Set(['next', 'prev', 'alternate', 'canonical']);
/** Keywords of `rel` whose target is needed to show the page. */
const assetRelations = new Set([
  'stylesheet',
  'icon',
  'manifest',
  'preload',
  'modulepreload',
  'apple-touch-icon',
  'apple-touch-icon-precomposed',
  'mask-icon',
]);
/** Properties of `meta` that name a picture. */
const pictures = new Set(['og:image', 'og:image:url', 'og:image:secure_url', 'twitter:image', 'twitter:image:src']);

const keywords = (text: string | undefined) => (text ?? '').toLowerCase().split(/[\t\n\f\r ]+/);

function takeLink({ rel, href, imagesrcset }: Attributes, into: Collector, base: DocumentBase): void {
  const relations = keywords(rel);
  const asset = relations.find((relation) => assetRelations.has(relation));
  if (imagesrcset !== undefined) takeSrcset(imagesrcset, 'link', into, base);
  if (!href) return;
  if (relations.includes('canonical')) into.canonical(href, base);
  const page = relations.find((relation) => pageRelations.has(relation));
  if (asset !== undefined) into.asset(href, asset, base);
  else if (page !== undefined) into.page(href, page, base);
}

function takeMeta(attributes: Attributes, into: Collector, base: DocumentBase): void {
  const { content } = attributes;
  if (!content) return;
  const property = (attributes.property ?? attributes.name ?? '').trim().toLowerCase();
  if (pictures.has(property)) into.asset(content.trim(), property, base);
  if (attributes['http-equiv']?.trim().toLowerCase() !== 'refresh') return;
  const target = refreshTarget(content);
  if (target !== null) into.page(target, 'refresh', base);
}

function takeSrcset(text: string, relation: string, into: Collector, base: DocumentBase): void {
  if (!into.wantsAssets) return;
  for (const address of parseSrcset(text)) into.asset(address, relation, base);
}

/** What any element may carry. */
function takeCommon(name: string, attributes: Attributes, into: Collector, base: DocumentBase): void {
  if (attributes['data-src'] !== undefined) into.asset(attributes['data-src'], name, base);
  if (attributes['data-srcset'] !== undefined) takeSrcset(attributes['data-srcset'], name, into, base);
  if (attributes.background !== undefined) into.asset(attributes.background, 'background', base);
}

type Taker = (attributes: Attributes, into: Collector, base: DocumentBase) => void;

const takePicture =
  (name: string): Taker =>
  ({ href, 'xlink:href': xlink }, into, base) =>
    into.asset(href ?? xlink, name, base);

const takePage =
  (name: string): Taker =>
  ({ href, src, 'xlink:href': xlink }, into, base) => {
    const address = name === 'iframe' || name === 'frame' ? src : (href ?? xlink);
    // Empty, a frame shows nothing, and a link leads to its own page.
    if (address) into.page(address, name, base);
  };

const takers = new Map<string, Taker>([
  ['a', takePage('a')],
  ['area', takePage('area')],
  ['iframe', takePage('iframe')],
  ['frame', takePage('frame')],
  ['link', takeLink],
  ['meta', takeMeta],
  ['video', ({ poster }, into, base) => into.asset(poster, 'poster', base)],
  ['object', ({ data }, into, base) => into.asset(data, 'object', base)],
  ['image', takePicture('image')],
  ['use', takePicture('use')],
]);

/** Gathers what one element leads to and needs, by its attributes alone. @param name as in HTML, in lower case */
export function takeElement(name: string, attributes: Attributes, into: Collector, base: DocumentBase): void {
  takers.get(name)?.(attributes, into, base);
  if (!into.wantsAssets) return;
  if (sources.has(name)) {
    into.asset(attributes.src, name, base);
    if (attributes.srcset !== undefined) takeSrcset(attributes.srcset, name, into, base);
  }
  takeCommon(name, attributes, into, base);
}
