import { createHash } from 'node:crypto';

/** What a WARC record says of itself, its length aside. */
export interface WarcHeaders {
  'WARC-Type': 'warcinfo' | 'response';
  /** RFC 3339 UTC. */
  'WARC-Date': string;
  'Content-Type': string;
  [name: string]: string;
}

/** A record id that the same record always gets: a UUID of version 8 (RFC 9562 5.8) made of a hash. */
export function recordId(...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(parts.join('\n')).digest('hex');
  const variant = ((Number.parseInt(hash.charAt(16), 16) & 3) | 8).toString(16);
  return `<urn:uuid:${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}>`;
}

/** Header lines end what comes before them, so a value holds no line ends. */
const line = ([name, value]: [string, string]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`;

/** Header block of a record (WARC/1.1, ISO 28500:2017 section 4). @param length bytes of its block */
export const recordHead = (headers: WarcHeaders, length: number): Buffer =>
  Buffer.from(
    `WARC/1.1\r\n${Object.entries({ ...headers, 'Content-Length': String(length) })
      .map(line)
      .join('')}\r\n`,
  );

/** What follows the block of every record. */
export const recordEnd = Buffer.from('\r\n\r\n');

/** The head of a stored answer as HTTP/1.1 has it (RFC 9112). Values go out as the bytes they came as. */
export function httpHead(status: number, headers: readonly [string, string][]): Buffer {
  return Buffer.from(`HTTP/1.1 ${status} \r\n${headers.map(line).join('')}\r\n`, 'latin1');
}
