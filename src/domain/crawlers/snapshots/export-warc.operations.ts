import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { BlobStore } from '../../../ports/blobs.ts';
import { locateCrawler } from '../config/find-crawler.ts';
import { crawlerOperation } from '../crawlers.ts';
import type { CrawlSnapshot } from './snapshot.entity.ts';
import { findSnapshot, namedSnapshot, requireCaptured, requireFiles } from './snapshot-record.ts';
import { snapshotNumber } from './snapshots.schema.ts';

/** What a WARC record says of itself, its length aside. */
interface WarcHeaders {
  'WARC-Type': 'warcinfo' | 'response';
  /** RFC 3339 UTC. */
  'WARC-Date': string;
  'Content-Type': string;
  [name: string]: string;
}

/** A record id that the same record always gets: a UUID of version 8 (RFC 9562 5.8) made of a hash. */
function recordId(...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(parts.join('\n')).digest('hex');
  const variant = ((Number.parseInt(hash.charAt(16), 16) & 3) | 8).toString(16);
  return `<urn:uuid:${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}>`;
}

/** Header lines end what comes before them, so a value holds no line ends. */
const line = ([name, value]: [string, string]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`;

/** Header block of a record (WARC/1.1, ISO 28500:2017 section 4). @param length bytes of its block */
const recordHead = (headers: WarcHeaders, length: number): Buffer =>
  Buffer.from(
    `WARC/1.1\r\n${Object.entries({ ...headers, 'Content-Length': String(length) })
      .map(line)
      .join('')}\r\n`,
  );

/** What follows the block of every record. */
const recordEnd = Buffer.from('\r\n\r\n');

/** The head of a stored answer as HTTP/1.1 has it (RFC 9112). Values go out as the bytes they came as. */
function httpHead(status: number, headers: readonly [string, string][]): Buffer {
  return Buffer.from(`HTTP/1.1 ${status} \r\n${headers.map(line).join('')}\r\n`, 'latin1');
}

interface Entry {
  hash: string;
  url: string;
  http_status: number;
  content_type: string | null;
  /** JSON. */
  headers: string | null;
  sha256: string | null;
  bytes: string;
  redirect_to: string | null;
  etag: string | null;
  last_modified: string | null;
  fetched_at: string | Date;
}

/** Entries read at a time: a crawled site may give each of them 64 KiB of headers, which are held for as long as a client reads. */
const batch = 16;
/** A record up to this size is made in memory; bytes. */
const small = 256 * 1024;

const pack = promisify(gzip);

/** What the body as it is kept has not any more, and what is never kept. */
const left = new Set([
  'content-encoding',
  'transfer-encoding',
  'content-length',
  'connection',
  'set-cookie',
  'trailer',
]);

/** Headers of the answer as it is kept: decoded, with its real length. */
function headersOf(entry: Entry): [string, string][] {
  const headers = new Map<string, [string, string]>();
  const add = (name: string, value: string | null) => {
    if (value !== null && !left.has(name.toLowerCase()) && !headers.has(name.toLowerCase()))
      headers.set(name.toLowerCase(), [name, value]);
  };
  const answered: Record<string, string> | null = JSON.parse(entry.headers ?? 'null');
  for (const [name, value] of Object.entries(answered ?? {})) add(name, value);
  add('Content-Type', entry.content_type);
  add('Location', entry.redirect_to);
  add('ETag', entry.etag);
  add('Last-Modified', entry.last_modified);
  return [...headers.values(), ['Content-Length', entry.bytes]];
}

/** @throws DomainError when the snapshot is deleted or expires meanwhile: what is left of its entries is not all of them */
async function* entriesOf(em: EntityManager, { id, crawler_id }: CrawlSnapshot): AsyncGenerator<Entry> {
  let after = '';
  for (;;) {
    const rows = await em.execute<Entry[]>(
      `select encode(url_hash, 'hex') as hash, url, http_status, content_type, headers::text, sha256, bytes, redirect_to, etag, last_modified,
         fetched_at from snapshot_entry where snapshot_id = ? and url_hash > decode(?, 'hex') order by url_hash limit ${batch}`,
      [id, after],
    );
    // Entries go only after their snapshot has, so these are all there were.
    requireFiles(await findSnapshot(em, crawler_id, id));
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < batch) return;
    after = last.hash;
  }
}

/** A member of its own for each record, so that a reader may begin at any of them (WARC/1.1 annex D). */
async function* zipped(content: AsyncIterable<Uint8Array>, isSmall: boolean): AsyncGenerator<Buffer> {
  if (isSmall) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    yield await pack(Buffer.concat(chunks));
    return;
  }
  // A fault of the source reaches the reader of the zipped stream.
  yield* pipeline(Readable.from(content, { objectMode: false }), createGzip(), () => {}) as AsyncIterable<Buffer>;
}

async function* response(blobs: BlobStore, snapshot_id: number, entry: Entry): AsyncGenerator<Uint8Array> {
  const head = httpHead(entry.http_status, headersOf(entry));
  const date = new Date(entry.fetched_at).toISOString();
  yield recordHead(
    {
      'WARC-Type': 'response',
      'WARC-Record-ID': recordId('response', snapshot_id, entry.url),
      'WARC-Date': date,
      'WARC-Target-URI': entry.url,
      ...(entry.sha256 !== null && { 'WARC-Payload-Digest': `sha256:${entry.sha256}` }),
      'Content-Type': 'application/http;msgtype=response',
    },
    head.length + Number(entry.bytes),
  );
  yield head;
  if (entry.sha256 !== null) yield* blobs.read(entry.sha256);
  yield recordEnd;
}

async function* info(snapshot: CrawlSnapshot, software: string): AsyncGenerator<Uint8Array> {
  const fields = [
    `software: ${software}`,
    'format: WARC File Format 1.1',
    'conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/',
    `description: snapshot ${snapshot.id} of ${snapshot.origin}; bodies are kept decoded`,
  ];
  const block = Buffer.from(fields.map((field) => `${field}\r\n`).join(''));
  yield recordHead(
    {
      'WARC-Type': 'warcinfo',
      'WARC-Record-ID': recordId('warcinfo', snapshot.id),
      'WARC-Date': (snapshot.sealed_at ?? snapshot.created_at).toISOString(),
      'WARC-Filename': warcName(snapshot),
      'Content-Type': 'application/warc-fields',
    },
    block.length,
  );
  yield block;
  yield recordEnd;
}

const warcName = ({ id, host }: CrawlSnapshot): string =>
  `${host.replace(/[^a-z0-9.-]+/gi, '-')}-snapshot-${id}.warc.gz`;

/**
 * A snapshot as a WARC/1.1 file, compressed record by record, as it is read: a `warcinfo`, then a `response` for each entry, redirects
 * included. The same snapshot always gives the same file.
 * @param software name and version of the program
 */
async function* exportWarc(
  em: EntityManager,
  blobs: BlobStore,
  snapshot: CrawlSnapshot,
  software: string,
): AsyncGenerator<Buffer> {
  yield* zipped(info(snapshot, software), true);
  for await (const entry of entriesOf(em, snapshot))
    yield* zipped(response(blobs, snapshot.id, entry), Number(entry.bytes) <= small);
}

export const exportWarcFile = crawlerOperation({
  name: 'crawlers.exportWarc',
  kind: 'query',
  permission: 'browse_crawlers',
  mayConflict: true,
  summary: 'Export a snapshot as a WARC file',
  input: z.object(snapshotNumber),
  output: z.object({ name: z.string().describe('Name for the file') }),
  find: namedSnapshot,
  async execute(context, input) {
    const { em, services } = context;
    const crawler = await locateCrawler(context, input.crawler);
    const snapshot = await findSnapshot(em, crawler.id, input.snapshot);
    requireCaptured(snapshot);
    requireFiles(snapshot);
    context.attachStream(exportWarc(em, services.blobs, snapshot, `Portico/${services.settings.version}`));
    return { name: warcName(snapshot) };
  },
});
