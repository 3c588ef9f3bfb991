import { type Handler, Parser, type ParserOptions } from 'htmlparser2';
import type { PageFacts, ReadFault, RobotsDirectives } from '../../../ports/page-facts.ts';
import { charsetOf, decodeText, isImage } from './charset.ts';
import { Collector, DocumentBase } from './collector.ts';
import { applyHeader, applyMeta, type DocumentToRead, type GoOn, maxBytes, noDirectives } from './document.ts';
import { readCss } from './read-css.ts';

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
function takeElement(name: string, attributes: Attributes, into: Collector, base: DocumentBase): void {
  takers.get(name)?.(attributes, into, base);
  if (!into.wantsAssets) return;
  if (sources.has(name)) {
    into.asset(attributes.src, name, base);
    if (attributes.srcset !== undefined) takeSrcset(attributes.srcset, name, into, base);
  }
  takeCommon(name, attributes, into, base);
}

/**
 * How pages are parsed. A parser that decodes references itself looks at every character of all text, most of a page, for their sake; one that
 * does not, leaps from tag to tag.
 */
export const pageParserOptions: ParserOptions = { decodeEntities: false };

/** As an attribute decodes its references, which is not as text does (HTML 13.2.5.73). */
function decoded(value: string): string {
  let found = value;
  const take = (_name: string, read: string) => {
    found = read;
  };
  new Parser({ onattribute: take }).end(`<a b="${value.replaceAll('"', '&quot;')}">`);
  return found;
}

/** Attributes as they are meant, from what `pageParserOptions` leaves of them. */
export function decodedAttributes(written: Attributes): Attributes {
  const values = Object.entries(written);
  if (!values.some(([, value]) => value?.includes('&'))) return written;
  return Object.fromEntries(
    values.map(([name, value]) => [name, value?.includes('&') ? decoded(value) : value] as const),
  );
}

const fields = new Set(['input', 'select', 'textarea', 'button']);

/** A form that is being read: sent by GET and without fields it is a link. */
class OpenForm {
  readonly #action: string | undefined;
  #hasFields = false;

  constructor({ action, method }: Attributes) {
    const isGet = !['post', 'dialog'].includes((method ?? '').trim().toLowerCase());
    this.#action = isGet ? action : undefined;
  }

  /** Looks at an element inside. */
  element(name: string, attributes: Attributes): void {
    // A control without a name is not sent.
    if (fields.has(name) && attributes.name) this.#hasFields = true;
  }

  /** Where it leads; sending no fields replaces the query of its action by an empty one. Null: it is no link. */
  get target(): string | null {
    if (this.#hasFields || !this.#action) return null;
    return this.#action.split(/[?#]/, 1)[0] || null;
  }
}

/** Elements inside elements; deeper documents are made to exhaust their readers. */
export const maxNesting = 5_000;
/** Documents inside of `srcdoc` attributes inside of documents. */
const maxInner = 10;

/** What the parser of a page (`pageParserOptions`) tells, turned into addresses and directives. */
class PageHandler implements Partial<Handler> {
  isTooDeep = false;
  isStopped = false;
  goOn: () => boolean = () => true;
  readonly #collector: Collector;
  readonly #robots: RobotsDirectives;
  readonly #base: DocumentBase;
  readonly #level: number;
  #depth = 0;
  /** Templates that are open: their content is no part of the document, so no `<base>` there counts. */
  #templates = 0;
  #form: OpenForm | null = null;
  /** Of an open `<style>`. */
  #style: string[] | null = null;

  /** @param around address of the document, or the base of the page whose `srcdoc` this is */
  constructor(collector: Collector, robots: RobotsDirectives, around: string | DocumentBase, level = 0) {
    this.#collector = collector;
    this.#robots = robots;
    this.#base = new DocumentBase(around);
    this.#level = level;
  }

  onopentag(name: string, written: Attributes): void {
    if (this.isTooDeep || this.isStopped) return;
    this.#depth += 1;
    if (this.#depth > maxNesting) {
      this.isTooDeep = true;
      return;
    }
    const attributes = decodedAttributes(written);
    this.#form?.element(name, attributes);
    takeElement(name, attributes, this.#collector, this.#base);
    this.#special(name, attributes);
    if (attributes.style?.includes('(')) this.#readStyle(attributes.style);
  }

  onclosetag(name: string): void {
    this.#depth -= 1;
    if (name === 'template') this.#templates -= 1;
    else if (name === 'form') this.#closeForm();
    else if (name === 'style' && this.#style) {
      this.#readStyle(this.#style.join(''));
      this.#style = null;
    }
  }

  ontext(text: string): void {
    this.#style?.push(text);
  }

  #special(name: string, attributes: Attributes): void {
    if (name === 'base' && attributes.href !== undefined && this.#templates === 0) {
      if (this.#base.set(attributes.href)) this.#collector.rebase();
    } else if (name === 'template') this.#templates += 1;
    else if (name === 'form') this.#form = new OpenForm(attributes);
    else if (name === 'style') this.#style = isCss(attributes.type) ? [] : null;
    else if (name === 'iframe' && attributes.srcdoc) this.#readInner(attributes.srcdoc);
    else if (name === 'meta' && this.#level === 0 && attributes.content) {
      applyMeta(this.#robots, (attributes.name ?? '').trim().toLowerCase(), attributes.content);
    }
  }

  #closeForm(): void {
    const target = this.#form?.target ?? null;
    if (target !== null) this.#collector.page(target, 'form', this.#base);
    this.#form = null;
  }

  #readStyle(text: string): void {
    if (!this.#collector.wantsAssets || this.isStopped) return;
    const take = (written: string, relation: string) => this.#collector.asset(written, relation, this.#base);
    readCss(text, take, () => this.#check());
  }

  #readInner(html: string): void {
    if (this.#level === maxInner || this.isStopped) return;
    const inner = new PageHandler(this.#collector, this.#robots, this.#base, this.#level + 1);
    inner.goOn = () => this.#check();
    new Parser(inner, pageParserOptions).end(html);
    this.isTooDeep ||= inner.isTooDeep;
  }

  #check(): boolean {
    this.isStopped ||= !this.goOn();
    return !this.isStopped;
  }
}

const isCss = (type: string | undefined) => !type || type.trim().toLowerCase() === 'text/css';

/** Characters between two looks at the clock. */
const piece = 64 * 1024;

/** Reads an HTML or XHTML page; never throws, whatever its bytes are. */
export function readPage(page: DocumentToRead, goOn: GoOn = () => true): PageFacts {
  const isXhtml = /^\s*application\/xhtml\+xml/i.test(page.contentType ?? '');
  const robots = noDirectives();
  applyHeader(robots, page.robotsTag);
  const bytes = page.bytes.subarray(0, maxBytes);
  const charset = charsetOf(bytes, page.contentType, isXhtml ? 'xhtml' : 'html');
  const collector = new Collector({ charset, ...page.options }, page.parserOn);
  const faults: ReadFault[] = page.bytes.length > maxBytes ? ['too_large'] : [];
  const facts = (): PageFacts => ({ charset, ...collector.resolve(), robots: { ...robots }, faults: [...faults] });
  if (isImage(bytes)) {
    faults.push('content');
    return facts();
  }
  const handler = new PageHandler(collector, robots, page.url);
  const isWhole = feed(handler, decodeText(bytes, charset).replaceAll('\u0000', '\ufffd'), isXhtml, () => goOn(facts));
  if (handler.isTooDeep) faults.push('nesting');
  else if (!isWhole) faults.push('time');
  return facts();
}

/** Gives the text to a parser piece by piece. @returns false when it was ended before its end */
function feed(handler: PageHandler, text: string, isXhtml: boolean, goOn: () => boolean): boolean {
  const xhtml: ParserOptions = { recognizeSelfClosing: true, recognizeCDATA: true };
  const parser = new Parser(handler, { ...pageParserOptions, ...(isXhtml && xhtml) });
  handler.goOn = goOn;
  let isWhole = true;
  for (let at = 0; isWhole && at < text.length; at += piece) {
    parser.write(text.length <= piece ? text : text.slice(at, at + piece));
    const isLast = at + piece >= text.length;
    isWhole = !handler.isTooDeep && !handler.isStopped && (isLast || goOn());
  }
  // What is open at the end is closed: a style sheet, a form.
  if (isWhole) parser.end();
  return isWhole && !handler.isStopped;
}
