import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { SaxesAttributePlain, SaxesParser, SaxesTagPlain } from 'saxes';
import { type NormaliseOptions, normalise } from '../urls/normalise.ts';
import { charsetOf, looksLikeHtml } from './charset.ts';
import {
  SitemapError,
  type SitemapItem,
  type SitemapParser,
  sitemapBounds,
  type WrittenAddress,
} from './sitemap-item.ts';

/** Packed twice happens where servers pack files that are packed; more is made to exhaust. */
const maxLevels = 3;

/** The beginning of what is to come, of at least two bytes when there are, and all of it. */
async function peek(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ beginning: Uint8Array; all: AsyncGenerator<Uint8Array, void, undefined> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  let beginning: Uint8Array = Buffer.alloc(0);
  let isDone = false;
  while (!isDone && beginning.length < 2) {
    const next = await iterator.next();
    isDone = next.done === true;
    if (!next.done) beginning = Buffer.concat([beginning, next.value]);
  }
  async function* all() {
    try {
      if (beginning.length > 0) yield beginning;
      while (!isDone) {
        const next = await iterator.next();
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return { beginning, all: all() };
}

/**
 * Unpacks gzip wherever its magic bytes begin a file, whatever it is called; other bytes pass as they are.
 * @throws SitemapError `gzip` for a broken file, after what could be unpacked
 */
async function* unpack(chunks: AsyncIterable<Uint8Array>, level = 0): AsyncGenerator<Uint8Array> {
  const { beginning, all } = await peek(chunks);
  if (beginning[0] !== 0x1f || beginning[1] !== 0x8b) {
    yield* all;
    return;
  }
  if (level === maxLevels) {
    await all.return();
    throw new SitemapError('gzip', `packed more than ${maxLevels} times`);
  }
  yield* unpack(gunzip(all), level + 1);
}

async function* gunzip(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(packed);
  const gunzip = createGunzip();
  let sourceError: Error | null = null;
  source.on('error', (error) => {
    sourceError = error;
    gunzip.destroy(error);
  });
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk;
  } catch (error) {
    if (sourceError !== null || error instanceof SitemapError) throw error;
    throw new SitemapError('gzip', error instanceof Error ? error.message : String(error));
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

/** Characters of a line that are kept; what is longer is no address. */
const maxLine = 8_192;

/** Reads a text with one address a line (sitemaps.org, "text file"). Lines that are none are left out. */
class ListSitemapParser implements SitemapParser {
  line = 1;
  #rest = '';
  #isAny = false;

  write(text: string): WrittenAddress[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = (lines.pop() ?? '').slice(0, maxLine);
    this.line += lines.length;
    return this.#take(lines);
  }

  end(): WrittenAddress[] {
    const found = this.#take([this.#rest]);
    if (!this.#isAny) throw new SitemapError('content', 'neither XML nor a list of addresses');
    return found;
  }

  #take(lines: readonly string[]): WrittenAddress[] {
    const addresses = lines
      .map((line) => line.trim())
      .filter((line) => /^https?:\/\//i.test(line) && line.length < maxLine);
    this.#isAny ||= addresses.length > 0;
    return addresses.map((written) => ({ kind: 'page', written, lastmod: null }));
  }
}

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

/** Namespaces are not checked: any prefix will do. */
const localName = (name: string) => name.slice(name.indexOf(':') + 1).toLowerCase();

/**
 * Reads urlset, sitemapindex, RSS (0.9x, 1.0, 2.0) and Atom. Nothing is expanded: saxes knows no entities but XML's own five and never
 * reads what a DTD declares.
 */
class XmlSitemapParser implements SitemapParser {
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

/** Bytes that tell encoding and kind. */
const enough = 1_024;

/** The same bytes; the first chunk has enough to be looked at, unless the file is smaller. */
async function* withBeginning(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let beginning: Uint8Array | null = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (beginning === null) {
      yield chunk;
      continue;
    }
    beginning = Buffer.concat([beginning, chunk]);
    if (beginning.length < enough) continue;
    yield beginning;
    beginning = null;
  }
  if (beginning !== null && beginning.length > 0) yield beginning;
}

/** The file as text, piece by piece. @throws SitemapError `too_large` after the first 50 MiB, `gzip` */
async function* textOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  let bytes = 0;
  for await (const chunk of withBeginning(unpack(chunks))) {
    const part = chunk.subarray(0, maxBytes - bytes);
    decoder ??= new TextDecoder(charsetOf(part, null, 'xml'));
    yield decoder.decode(part, { stream: true });
    bytes += chunk.length;
    if (bytes > maxBytes) throw new SitemapError('too_large', `larger than ${maxBytes} bytes`);
  }
  yield decoder?.decode() ?? '';
}

async function parserFor(beginning: string): Promise<SitemapParser> {
  if (!beginning.startsWith('<')) return new ListSitemapParser();
  if (looksLikeHtml(beginning) && !/<(?:\w+:)?(?:urlset|sitemapindex|rss|rdf|feed)\b/i.test(beginning.slice(0, 4_096)))
    throw new SitemapError('content', 'an HTML page');
  const { SaxesParser } = await import('saxes');
  return new XmlSitemapParser(new SaxesParser({ xmlns: false }));
}

function itemOf(found: WrittenAddress, url: string, options: NormaliseOptions): SitemapItem | null {
  const address = normalise(found.written, url, options);
  if (address === null) return null;
  const time = found.lastmod ? Date.parse(found.lastmod) : Number.NaN;
  return { kind: found.kind, url: address, ...(Number.isNaN(time) ? {} : { lastmod: new Date(time) }) };
}

/** Of a reading, which may be long: how far it got. */
interface Position {
  parser: SitemapParser | null;
  /** Empty lines before the parser's first. */
  skipped: number;
}

async function* addresses(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  position: Position,
): AsyncGenerator<WrittenAddress> {
  for await (const text of textOf(chunks, maxBytes)) {
    let part = text;
    if (position.parser === null) {
      part = text.trimStart();
      position.skipped += text.slice(0, text.length - part.length).split('\n').length - 1;
      // Blanks do not tell yet what this is.
      if (part === '') continue;
      position.parser = await parserFor(part);
    }
    yield* position.parser.write(part);
  }
  if (position.parser === null) throw new SitemapError('content', 'empty');
  yield* position.parser.end();
}

/**
 * Reads a sitemap while it comes: urlset, index, RSS, Atom in any namespace, or a list of addresses, packed or not. Of a broken file
 * comes what stands before the fault, then the fault, and nothing more. What is no http(s) address is left out.
 * @param chunks its body; read only as far as wanted
 * @param url of the sitemap: relative addresses are taken from there
 * @throws whatever `chunks` throws
 */
export async function* readSitemap(
  chunks: AsyncIterable<Uint8Array>,
  url: string,
  options: NormaliseOptions,
  bounds: Readonly<typeof sitemapBounds> = sitemapBounds,
): AsyncGenerator<SitemapItem> {
  const position: Position = { parser: null, skipped: 0 };
  let count = 0;
  const fault = ({ fault, message }: SitemapError): SitemapItem => ({
    kind: 'fault',
    fault,
    line: position.skipped + (position.parser?.line ?? 1),
    message,
  });
  const given = (found: WrittenAddress): SitemapItem | null => {
    const item = itemOf(found, url, options);
    if (item) count += 1;
    return item;
  };
  try {
    for await (const found of addresses(chunks, bounds.bytes, position)) {
      if (count === bounds.urls) throw new SitemapError('too_many_urls', `more than ${bounds.urls} addresses`);
      const item = given(found);
      if (item) yield item;
    }
  } catch (error) {
    if (!(error instanceof SitemapError)) throw error;
    for (const found of error.found.slice(0, bounds.urls - count)) {
      const item = given(found);
      if (item) yield item;
    }
    yield fault(error);
  }
}
