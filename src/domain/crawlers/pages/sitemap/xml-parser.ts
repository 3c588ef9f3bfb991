import type { SaxesAttributePlain, SaxesParser, SaxesTagPlain } from 'saxes';
import { SitemapError, type SitemapParser, type WrittenAddress } from './sitemap-item.ts';

/** No sitemap or feed nests like that. */
const maxDepth = 100;
/** Characters of an address or a date that are kept. */
const maxText = 8_192;

const roots = new Set(['urlset', 'sitemapindex', 'rss', 'rdf', 'feed']);
/** What holds one address, and what that leads to. */
const holders: Record<string, 'page' | 'sitemap'> = { url: 'page', sitemap: 'sitemap', item: 'page', entry: 'page' };
/** Elements of a holder whose text is the address, or its date. */
const addressElements: Record<string, string> = { url: 'loc', sitemap: 'loc', item: 'link' };
const dateElements = new Set(['lastmod', 'pubdate', 'date', 'updated']);

/** Namespaces are not asked for: any prefix will do. */
const localName = (name: string) => name.slice(name.indexOf(':') + 1).toLowerCase();

/**
 * Reads urlset, sitemapindex, RSS (0.9x, 1.0, 2.0) and Atom. Nothing is expanded: saxes knows no entities but XML's own five and never
 * reads what a DTD declares.
 */
export class XmlSitemapParser implements SitemapParser {
  readonly #parser: SaxesParser;
  /** Names of the elements that are open. */
  readonly #open: string[] = [];
  #found: WrittenAddress[] = [];
  #current: WrittenAddress | null = null;
  #text = '';

  constructor(parser: SaxesParser) {
    this.#parser = parser;
    parser.on('error', (error) => this.#fail('syntax', error.message));
    parser.on('opentag', (tag) => this.#openTag(tag));
    parser.on('closetag', (tag) => this.#closeTag(tag));
    const text = (part: string) => {
      if (this.#current && this.#text.length < maxText) this.#text += part.slice(0, maxText);
    };
    parser.on('text', text);
    parser.on('cdata', text);
  }

  get line(): number {
    return this.#parser.line;
  }

  write(text: string): WrittenAddress[] {
    this.#parser.write(text);
    return this.#take();
  }

  end(): WrittenAddress[] {
    this.#parser.close();
    return this.#take();
  }

  #take(): WrittenAddress[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  #fail(fault: 'syntax' | 'content', message: string): never {
    throw new SitemapError(fault, message.replace(/^\d+:\d+: /, ''), this.#take());
  }

  #openTag({ name, attributes }: SaxesTagPlain): void {
    const local = localName(name);
    if (this.#open.length === 0 && !roots.has(local)) this.#fail('content', `<${name.slice(0, 100)}> is no sitemap`);
    if (this.#open.length === maxDepth) this.#fail('syntax', `more than ${maxDepth} elements inside one another`);
    this.#open.push(local);
    this.#text = '';
    const kind = holders[local];
    if (kind && !this.#current) this.#current = { kind, written: '', lastmod: null };
    else if (local === 'link' && this.#open.at(-2) === 'entry' && this.#current) this.#atomLink(attributes);
  }

  /** An entry leads to what its link without `rel` or with `rel=alternate` names (RFC 4287 4.2.7.2). */
  #atomLink({ rel, href }: Record<string, SaxesAttributePlain | string | undefined>): void {
    const isPage = rel === undefined || rel === 'alternate';
    if (this.#current && isPage && this.#current.written === '' && typeof href === 'string')
      this.#current.written = href;
  }

  #closeTag({ name }: SaxesTagPlain): void {
    const local = localName(name);
    this.#open.pop();
    if (!this.#current) return;
    const holder = this.#open.at(-1) ?? '';
    if (holders[local] && !holders[holder]) {
      if (this.#current.written !== '') this.#found.push(this.#current);
      this.#current = null;
    } else if (addressElements[holder] === local) this.#current.written ||= this.#text.trim();
    else if (holders[holder] && dateElements.has(local)) this.#current.lastmod ??= this.#text.trim();
    this.#text = '';
  }
}
