import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import type { GuardedHttp } from '../../../ports/http.ts';

/** What one file of a sitemap lists. */
interface SitemapFile {
  /** `index`: the addresses are those of further files. */
  kind: 'index' | 'urls';
  locations: string[];
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decode(text: string): string {
  const plain = text.replace(/^\s*<!\[CDATA\[([\s\S]*?)\]\]>\s*$/, '$1').trim();
  return plain.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (whole, hex, decimal, name) => {
    if (name) return entities[String(name).toLowerCase()] ?? whole;
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Reads the `<loc>` elements of a sitemap, at most `limit`; in one pass, whatever the text holds. */
function parseSitemap(text: string, limit: number): SitemapFile {
  const kind = /<sitemapindex[\s>]/.test(text.slice(0, 4096)) ? 'index' : 'urls';
  const locations: string[] = [];
  let at = text.indexOf('<loc>');
  while (at !== -1 && locations.length < limit) {
    const end = text.indexOf('</loc>', at);
    if (end === -1) break;
    if (end - at < 4096) locations.push(decode(text.slice(at + '<loc>'.length, end)));
    at = text.indexOf('<loc>', end);
  }
  return { kind, locations };
}

/** The protocol's own bounds: 50,000 addresses and 50 MiB in a file; all files together may not be larger here. */
const sitemapLimits = { urls: 50_000, files: 50, wire: 10 * 1024 * 1024, bytes: 50 * 1024 * 1024 };

const inflate = promisify(gunzip);

/** Where the addresses come from, and for whom. */
interface SitemapRequest {
  http: GuardedHttp;
  /** Connections are shared within one organisation only. */
  pool: string;
  signal: AbortSignal;
}

/**
 * Reads all addresses of a sitemap, those of an index's files included.
 * @throws DomainError `invalid_request` for an address that may not be reached or is no sitemap, `upstream_unavailable`, `too_large`
 */
export async function readSitemap(url: string, request: SitemapRequest): Promise<string[]> {
  const found = new Set<string>();
  const open = [url];
  let bytes = 0;
  for (let file = 0; file < open.length && file < sitemapLimits.files && found.size < sitemapLimits.urls; file++) {
    const text = await fetchText(open[file] ?? '', request, sitemapLimits.bytes - bytes);
    bytes += text.length;
    const { kind, locations } = parseSitemap(text, sitemapLimits.urls - found.size);
    if (file === 0 && locations.length === 0)
      throw fieldError('invalid_request', 'sitemap_url', 'is not a sitemap: it lists no address');
    if (kind === 'urls') for (const one of locations) found.add(one);
    // An index of indexes is not part of the protocol.
    else if (file === 0) open.push(...locations);
  }
  return [...found];
}

async function fetchText(url: string, { http, pool, signal }: SitemapRequest, left: number): Promise<string> {
  if (left <= 0) throw tooLarge();
  const response = await http.request(url, {
    headers: { accept: 'application/xml, text/xml', 'accept-encoding': 'gzip, identity' },
    policy: { pool },
    signal,
    maxBytes: Math.min(sitemapLimits.wire, left),
    maxRedirections: 5,
    timeouts: { total: 30_000 },
  });
  if (response.status !== 200) {
    response.discard();
    throw fieldError('invalid_request', 'sitemap_url', `${url} answered ${response.status}`);
  }
  const body = Buffer.from(await response.bytes());
  // Compressed by the server, or a file that is stored so.
  if (body[0] !== 0x1f || body[1] !== 0x8b) return body.toString('utf8');
  try {
    return (await inflate(body, { maxOutputLength: left })).toString('utf8');
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw fieldError('invalid_request', 'sitemap_url', `${url} is no sound gzip`);
  }
}

const tooLarge = () =>
  new DomainError('too_large', `sitemap_url: is larger than ${sitemapLimits.bytes / 1024 / 1024} MiB`);
