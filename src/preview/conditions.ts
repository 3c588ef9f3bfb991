import type { IncomingHttpHeaders } from 'node:http';
import type { BlobEncoding, BlobSizes } from '../ports/blobs.ts';

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
export type Wanted = 'all' | 'none' | { start: number; end: number };

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
