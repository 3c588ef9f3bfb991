import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { yieldLoop } from '../../../lib/concurrency.ts';
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
/** Characters of an address or a date; what is longer is none. */
const maxText = 8_192;
/** Characters of one tag or declaration, which is kept until it ends. */
const maxTag = 65_536;
/** Tags, comments, declarations and instructions of a file: four times what 50,000 addresses with everything that is known beside them need. */
const maxMarkup = 2_000_000;

const roots = new Set(['urlset', 'sitemapindex', 'rss', 'rdf', 'feed']);
/** What holds one address, and what that leads to. */
const holders: ReadonlyMap<string, 'page' | 'sitemap'> = new Map([
  ['url', 'page'],
  ['sitemap', 'sitemap'],
  ['item', 'page'],
  ['entry', 'page'],
]);
/** Elements of a holder whose text is the address, or its date. */
const addressElements: ReadonlyMap<string, string> = new Map([
  ['url', 'loc'],
  ['sitemap', 'loc'],
  ['item', 'link'],
]);
const dateElements = new Set(['lastmod', 'pubdate', 'date', 'updated']);

/** Namespaces are not checked: any prefix will do. */
const localName = (name: string) => name.slice(name.indexOf(':') + 1).toLowerCase();

const tagStart = /^<\/?([^\s/<>"'=&!?]+)/;
const attribute = /\s+([^\s/<>"'=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/y;
/** Markup whose content goes on until its own mark: `<!--` and the like are followed by any characters. */
const passages: readonly (readonly [start: string, end: string])[] = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
];

const entities: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);
const reference = /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{1,64}));/gi;

/**
 * Reads urlset, sitemapindex, RSS (0.9x, 1.0, 2.0) and Atom in one pass: what stands between tags is looked for, not gone through, attributes are
 * read only where an address may be in them, and one tag, the depth and the number of all of them are bounded. Of entities
 * only XML's own five are expanded; what a DTD declares is skipped.
 */
class XmlSitemapParser implements SitemapParser {
  line = 1;
  /** The beginning of markup whose end has not come yet. */
  #rest = '';
  /** How far `#rest` has been looked through for its end, within which quote and how many declarations. */
  #seen = { at: 1, quote: '', depth: 1 };
  /** What ends the passage that is being skipped or, of CDATA, taken. */
  #until: string | null = null;
  #markup = 0;
  #isAny = false;
  /** Names of the elements that are open. */
  readonly #open: { name: string; local: string }[] = [];
  #found: WrittenAddress[] = [];
  #current: WrittenAddress | null = null;
  #text = '';

  write(part: string): WrittenAddress[] {
    const text = this.#rest + part;
    let at = 0;
    for (let next: number | null = 0; next !== null; ) {
      at = next;
      next = this.#until === null ? this.#step(text, at) : this.#pass(text, at, this.#until);
    }
    this.#rest = text.slice(at);
    return this.#take();
  }

  end(): WrittenAddress[] {
    if (this.#rest !== '' || this.#until !== null || this.#open.length > 0)
      this.#fail('syntax', `ends inside ${this.#open.length > 0 ? `<${this.#open.at(-1)?.name}>` : 'its markup'}`);
    if (!this.#isAny) this.#fail('content', 'has no element');
    return this.#take();
  }

  #take(): WrittenAddress[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  #fail(fault: 'syntax' | 'content', message: string): never {
    throw new SitemapError(fault, message, this.#take());
  }

  #countLines(text: string, from: number, to: number): void {
    for (let at = from; at < to; at += 1) if (text.charCodeAt(at) === 10) this.line += 1;
  }

  /** Takes the text up to the next markup, or that. @returns where to go on; null when more has to come, before which all is taken but `#rest` */
  #step(text: string, from: number): number | null {
    if (text.charCodeAt(from) !== 60) {
      if (from === text.length) return null;
      const end = text.indexOf('<', from);
      const to = end === -1 ? text.length : end;
      this.#addText(text, from, to);
      this.#countLines(text, from, to);
      return to;
    }
    const passage = passages.find(([start]) => text.startsWith(start, from));
    if (passage) {
      this.#countMarkup();
      this.#until = passage[1];
      return from + passage[0].length;
    }
    const rest = text.length - from < '<![CDATA['.length ? text.slice(from) : null;
    if (rest !== null && passages.some(([start]) => start.startsWith(rest))) return null;
    const end = this.#endOfTag(text, from);
    if (end === null) return null;
    this.#countMarkup();
    if (text[from + 1] !== '!') this.#takeTag(text.slice(from, end));
    this.#countLines(text, from, end);
    return end;
  }

  /** Goes on in a comment, an instruction or CDATA. */
  #pass(text: string, from: number, until: string): number | null {
    const end = text.indexOf(until, from);
    // What may be the beginning of its end is looked at again.
    const to = end === -1 ? Math.max(from, text.length - until.length + 1) : end;
    if (until === ']]>') this.#addText(text, from, to, true);
    this.#countLines(text, from, to);
    if (end !== -1) this.#until = null;
    else if (to === from) return null;
    return end === -1 ? to : end + until.length;
  }

  #countMarkup(): void {
    this.#markup += 1;
    if (this.#markup > maxMarkup) this.#fail('syntax', `more than ${maxMarkup} tags and comments`);
  }

  /** Where a tag or a declaration ends; each character is looked at once, in however many pieces they come. */
  #endOfTag(text: string, from: number): number | null {
    const isDeclaration = text[from + 1] === '!';
    const last = Math.min(text.length, from + maxTag);
    let { at, quote, depth } = this.#seen;
    for (at += from; at < last; at += 1) {
      const character = text[at] ?? '';
      if (quote !== '') {
        const end = text.indexOf(quote, at);
        at = end === -1 ? last : end;
        quote = end === -1 ? quote : '';
      } else if (character === '"' || character === "'") quote = character;
      else if (character === '>') depth -= 1;
      else if (character === '<') depth += 1;
      if (depth === 0) {
        this.#seen = { at: 1, quote: '', depth: 1 };
        return at + 1;
      }
      if (depth > 1 && !isDeclaration) this.#fail('syntax', 'a tag begins inside a tag');
    }
    if (last - from === maxTag) this.#fail('syntax', `a tag of more than ${maxTag} characters`);
    this.#seen = { at: last - from, quote, depth };
    return null;
  }

  #addText(text: string, from: number, to: number, isLiteral = false): void {
    if (!this.#current || this.#text.length > maxText) return;
    const part = text.slice(from, Math.min(to, from + maxText + 1));
    this.#text += isLiteral ? part.replaceAll('&', '&amp;') : part;
  }

  /** The text of an element that ends; empty when it is longer than any address. */
  #textOf(raw: string): string {
    if (raw.length > maxText) return '';
    return raw
      .replace(reference, (_, hex?: string, decimal?: string, name?: string) => {
        const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
        const character =
          name === undefined ? code > 0 && code <= 0x10ffff && String.fromCodePoint(code) : entities.get(name);
        return character || this.#fail('syntax', 'names a character or an entity that XML does not have');
      })
      .trim();
  }

  #takeTag(tag: string): void {
    const name = tagStart.exec(tag)?.[1];
    if (name === undefined) this.#fail('syntax', 'a tag without a name');
    if (tag[1] === '/') this.#closeTag(name);
    else {
      this.#openTag(name, tag);
      if (tag.at(-2) === '/') this.#closeTag(name);
    }
  }

  #openTag(name: string, tag: string): void {
    const local = localName(name);
    if (this.#open.length === 0 && !roots.has(local)) this.#fail('content', `<${name.slice(0, 100)}> is no sitemap`);
    if (this.#open.length === maxDepth) this.#fail('syntax', `more than ${maxDepth} elements inside one another`);
    const holder = this.#open.at(-1)?.local;
    this.#isAny = true;
    this.#open.push({ name, local });
    this.#text = '';
    const kind = holders.get(local);
    if (kind && !this.#current) this.#current = { kind, written: '', lastmod: null };
    else if (local === 'link' && holder === 'entry' && this.#current?.written === '')
      this.#atomLink(tag, name.length + 1);
  }

  /** An entry leads to what its link without `rel` or with `rel=alternate` names (RFC 4287 4.2.7.2). */
  #atomLink(tag: string, from: number): void {
    const attributes = new Map<string, string>();
    attribute.lastIndex = from;
    for (let found = attribute.exec(tag); found; found = attribute.exec(tag))
      attributes.set(found[1] ?? '', found[2] ?? found[3] ?? '');
    const [rel, href] = [attributes.get('rel'), attributes.get('href')];
    const isPage = rel === undefined || rel === 'alternate';
    if (this.#current && isPage && href !== undefined) this.#current.written = this.#textOf(href);
  }

  #closeTag(name: string): void {
    const open = this.#open.pop();
    if (open?.name !== name) this.#fail('syntax', `</${name.slice(0, 100)}> closes what is not open`);
    if (!this.#current) return;
    const { local } = open;
    const holder = this.#open.at(-1)?.local ?? '';
    if (holders.has(local) && !holders.has(holder)) {
      if (this.#current.written !== '') this.#found.push(this.#current);
      this.#current = null;
    } else if (addressElements.get(holder) === local) this.#current.written ||= this.#textOf(this.#text);
    else if (holders.has(holder) && dateElements.has(local)) this.#current.lastmod ??= this.#textOf(this.#text);
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

/** Bytes that are read without a pause. */
const readAtOnce = 32 * 1024;

/** The same bytes in pieces, with an iteration of the event loop between them. */
async function* paced(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length; at += readAtOnce) {
      yield chunk.subarray(at, at + readAtOnce);
      await yieldLoop();
    }
}

/** The file as text, piece by piece. @throws SitemapError `too_large` after the first 50 MiB, `gzip` */
async function* textOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  position: Position,
): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  for await (const chunk of paced(withBeginning(unpack(chunks)))) {
    const part = chunk.subarray(0, maxBytes - position.bytes);
    decoder ??= new TextDecoder(charsetOf(part, null, 'xml'));
    yield decoder.decode(part, { stream: true });
    position.bytes += chunk.length;
    if (position.bytes > maxBytes) throw new SitemapError('too_large', `larger than ${maxBytes} bytes`);
  }
  yield decoder?.decode() ?? '';
}

function parserFor(beginning: string): SitemapParser {
  if (!beginning.startsWith('<')) return new ListSitemapParser();
  if (looksLikeHtml(beginning) && !/<(?:\w+:)?(?:urlset|sitemapindex|rss|rdf|feed)\b/i.test(beginning.slice(0, 4_096)))
    throw new SitemapError('content', 'an HTML page');
  return new XmlSitemapParser();
}

function itemOf(found: WrittenAddress, url: string, options: NormaliseOptions): SitemapItem | null {
  const address = normalise(found.written, url, options);
  if (address === null) return null;
  const time = found.lastmod ? Date.parse(found.lastmod) : Number.NaN;
  return { kind: found.kind, url: address, ...(Number.isNaN(time) ? {} : { lastmod: new Date(time) }) };
}

/** Of a reading, which may be long: how far it got. */
interface Position {
  /** Read so far, unpacked. */
  bytes: number;
  parser: SitemapParser | null;
  /** Empty lines before the parser's first. */
  skipped: number;
}

async function* addresses(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  position: Position,
): AsyncGenerator<WrittenAddress> {
  for await (const text of textOf(chunks, maxBytes, position)) {
    let part = text;
    if (position.parser === null) {
      part = text.trimStart();
      position.skipped += text.slice(0, text.length - part.length).split('\n').length - 1;
      // Blanks do not tell yet what this is.
      if (part === '') continue;
      position.parser = parserFor(part);
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
 * @returns its bytes as far as they were read, unpacked
 * @throws whatever `chunks` throws
 */
export async function* readSitemap(
  chunks: AsyncIterable<Uint8Array>,
  url: string,
  options: NormaliseOptions,
  bounds: Readonly<typeof sitemapBounds> = sitemapBounds,
): AsyncGenerator<SitemapItem, number> {
  const position: Position = { bytes: 0, parser: null, skipped: 0 };
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
  return position.bytes;
}
