import { type NormaliseOptions, normalise } from '../../urls/normalise.ts';
import { charsetOf } from '../text/charset.ts';
import { looksLikeHtml } from '../text/sniff.ts';
import { ListSitemapParser } from './list-parser.ts';
import {
  SitemapError,
  type SitemapItem,
  type SitemapParser,
  sitemapBounds,
  type WrittenAddress,
} from './sitemap-item.ts';
import { unpack } from './unpack.ts';
import { XmlSitemapParser } from './xml-parser.ts';

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
