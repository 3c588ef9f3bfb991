import { type Handler, Parser, type ParserOptions } from 'htmlparser2';
import type { PageFacts, ReadFault, RobotsDirectives } from '../../../ports/page-facts.ts';
import { charsetOf, decodeText, isImage } from './charset.ts';
import { Collector, DocumentBase } from './collector.ts';
import { applyHeader, applyMeta, type DocumentToRead, type GoOn, maxBytes, noDirectives } from './document.ts';
import { type Attributes, takeElement } from './elements.ts';
import { readCss } from './read-css.ts';

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

/** Elements inside elements; deeper documents are made to exhaust whoever reads them. */
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
