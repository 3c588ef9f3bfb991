import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { BlobEncoding, Sha256 } from '../ports/blobs.ts';
import { isHeld, negotiate, wantedBytes } from './conditions.ts';
import { type Contents, smallContent } from './contents.ts';

export type Headers = Record<string, string | number>;

/** A content and its headers. */
export interface Sending {
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
