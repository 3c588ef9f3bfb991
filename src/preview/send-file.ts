import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Settings } from '../kernel/services.ts';
import { madeOfFile } from '../lib/version-cache.ts';
import type { BlobEncoding, BlobSizes, Sha256 } from '../ports/blobs.ts';
import { type Contents, smallContent } from './contents.ts';

export type Headers = Record<string, string | number>;

/** A content and its headers. */
interface Sending {
  sha256: Sha256;
  /** Content-Type. */
  type: string;
  /** It may be sent in a coding. */
  isEncodable: boolean;
  /** Only a 200 is sent in part, or as 304. */
  status: number;
  /** Headers of everything that is served from this host. */
  common: Headers;
}

/** A representation has a tag of its own (RFC 9110 8.8.3.3): the hash, and the coding when there is one. */
const etagOf = (sha256: string, encoding: BlobEncoding | null) => `"${sha256}${encoding ? `.${encoding}` : ''}"`;

/** Sends a file, or the requested range, in the client's preferred coding. Ranges are always of the unencoded file. */
export async function sendFile(
  contents: Contents,
  { method, headers: requested }: IncomingMessage,
  response: ServerResponse,
  { sha256, type, isEncodable, status, common }: Sending,
): Promise<void> {
  const sizes = await contents.sizes(sha256);
  const encoding = requested.range === undefined ? negotiate(requested['accept-encoding'], sizes) : null;
  const size = (encoding && sizes[encoding]) ?? sizes.identity;
  const etag = etagOf(sha256, encoding);
  const headers: Headers = {
    ...common,
    ETag: etag,
    'Accept-Ranges': 'bytes',
    ...(isEncodable && { Vary: 'Accept-Encoding' }),
  };
  if (status === 200 && isHeld(requested, etag)) return end(response, 304, headers);
  headers['Content-Type'] = type;
  if (encoding) headers['Content-Encoding'] = encoding;
  const wanted = status === 200 && method === 'GET' ? wantedBytes(requested, etag, size) : 'all';
  if (wanted === 'none') {
    return end(response, 416, { ...common, 'Content-Range': `bytes */${size}`, 'Content-Length': 0 });
  }
  const range = wanted === 'all' ? null : wanted;
  headers['Content-Length'] = range ? range.end - range.start + 1 : size;
  if (range) headers['Content-Range'] = `bytes ${range.start}-${range.end}/${size}`;
  const code = range ? 206 : status;
  if (method === 'HEAD' || size === 0) return end(response, code, headers);
  if (size <= smallContent) {
    const bytes = await contents.bytes(sha256, encoding);
    return end(response, code, headers, range ? bytes.subarray(range.start, range.end + 1) : bytes);
  }
  response.writeHead(code, headers);
  await pipeline(contents.stream(sha256, encoding, range ?? undefined), response);
}

export function end(response: ServerResponse, status: number, headers: Headers, body?: Buffer): void {
  response.writeHead(status, headers);
  response.end(body);
}

/** Quality a client gives a coding: 0 to 1; null when it is not mentioned (RFC 9110 12.5.3). */
function qualityOf(accept: string, coding: string): number | null {
  for (const item of accept.split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    if (name !== coding) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return null;
}

/** The stored coding to send: the client's preference, the smaller one of equals; null for the blob as it is. */
export function negotiate(accept: string | undefined, sizes: BlobSizes): BlobEncoding | null {
  if (!accept) return null;
  const wish = (coding: string) => qualityOf(accept, coding) ?? qualityOf(accept, '*') ?? 0;
  const identity = qualityOf(accept, 'identity') ?? 0;
  const offers = (['br', 'gzip'] as const)
    .filter((coding) => sizes[coding] !== undefined && wish(coding) > 0 && wish(coding) >= identity)
    .sort((a, b) => wish(b) - wish(a) || (sizes[a] ?? 0) - (sizes[b] ?? 0));
  return offers[0] ?? null;
}

/** Whether the caller holds the version already (RFC 9110 13.1.2: weak comparison). */
export function isHeld({ 'if-none-match': header }: IncomingHttpHeaders, etag: string): boolean {
  if (header === undefined) return false;
  return header === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** The bytes a request selects: all, some, or a range that does not exist. */
type Wanted = 'all' | 'none' | { start: number; end: number };

/**
 * Reads a Range header (RFC 9110 14.2). Several ranges at once are answered with the whole, as a server may: no reader of a site's
 * files sends them, and they are a known way to make a server send more than there is. An invalid header counts as absent, and so
 * does a range of another version (If-Range).
 */
export function wantedBytes(headers: IncomingHttpHeaders, etag: string, size: number): Wanted {
  const { range, 'if-range': condition } = headers;
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(range?.replace(/\s/g, '') ?? '') ?? [];
  if ((first === '' && last === '') || (condition !== undefined && condition !== etag)) return 'all';
  if (first === '') return suffix(Number(last), size);
  const [start, end] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)];
  if (last !== '' && Number(last) < start) return 'all';
  return start < size ? { start, end } : 'none';
}

/** The last bytes, as many as there are. */
const suffix = (count: number, size: number): Wanted =>
  count === 0 || size === 0 ? 'none' : { start: Math.max(size - count, 0), end: size - 1 };

/** Bytes of a page that can be edited; `studio.annotatePage` reads no larger one either. */
const largest = 4 * 1024 * 1024;

/**
 * Where a script has to stand to be the first of a page (HTML, 13.2.6.4): behind the doctype, since anything else before it puts browsers into quirks
 * mode. Browsers put what stands before `<head>` into it, so no policy or script of the page comes earlier.
 * @returns offset in bytes; null for UTF-16
 */
export function scriptPlace(html: Buffer): number | null {
  if ((html[0] === 0xfe && html[1] === 0xff) || (html[0] === 0xff && html[1] === 0xfe)) return null;
  const text = html.subarray(0, 64 * 1024).toString('latin1');
  let at = text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0;
  for (;;) {
    while (/[\t\n\f\r ]/.test(text.charAt(at))) at += 1;
    const isComment = text.startsWith('<!--', at);
    const isDoctype = /^<!doctype/i.test(text.slice(at, at + 9));
    if (!isComment && !isDoctype && !text.startsWith('<?', at)) return at;
    const mark = isComment ? '-->' : '>';
    // A comment may be as short as `<!-->`.
    const close = text.indexOf(mark, at + 2);
    if (close < 0) return at;
    at = close + mark.length;
    if (isDoctype) return at;
  }
}

/** The script that pages run while they are edited: a program of the dashboard's build (`src/dashboard/in-page`). */
export class PageScript {
  readonly #text: () => Promise<string>;

  /** @param directory what `scripts/dashboard.ts` wrote */
  constructor(directory = path.join(path.dirname(findPackageJSON(import.meta.url) ?? ''), 'dist/dashboard')) {
    this.#text = madeOfFile(path.join(directory, 'in-page/in-page.js'), (text) =>
      text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--'),
    );
  }

  /** The element for a page, which names the only origin that gets the script's messages. */
  async tag({ public_url }: Pick<Settings, 'public_url'>): Promise<string> {
    return `<script data-origin="${new URL(public_url).origin}">${await this.#text()}</script>`;
  }
}

/** Sends a page with the script in it. @returns false, and sends nothing, for a file that is no page, is too large, or is in UTF-16 */
export async function sendEditable(
  contents: Contents,
  { method }: IncomingMessage,
  response: ServerResponse,
  { sha256, type, status, common }: Sending,
  tag: () => Promise<string>,
): Promise<boolean> {
  if (!type.startsWith('text/html') || (await contents.sizes(sha256)).identity > largest) return false;
  const html = await buffer(contents.stream(sha256, null));
  const at = scriptPlace(html);
  if (at === null) return false;
  const page = Buffer.concat([html.subarray(0, at), Buffer.from(await tag()), html.subarray(at)]);
  const headers = { ...common, 'Cache-Control': 'no-store', 'Content-Type': type, 'Content-Length': page.length };
  end(response, status, headers, method === 'HEAD' ? undefined : page);
  return true;
}
