import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { createBlobStore } from '../../../src/engines/blobs/blob-store.ts';
import { createCrawlFetcher } from '../../../src/engines/crawler/fetcher.ts';
import type { GuardedHttpOptions } from '../../../src/engines/http/guarded-http.ts';
import type { BlobStore } from '../../../src/ports/blobs.ts';
import type { FetchedAnswer, FetchFault, FetchRequest, FetchResult } from '../../../src/ports/fetcher.ts';
import { client } from '../http/support.ts';

export interface Bench {
  blobs: BlobStore;
  /** Where the blobs lie. */
  root: string;
  /** Fetches from the given port of 127.0.0.1 as a page that is kept, unless configured otherwise. */
  get(port: number, more?: Partial<FetchRequest> & { path?: string }): Promise<FetchResult>;
  answer(port: number, more?: Partial<FetchRequest> & { path?: string }): Promise<FetchedAnswer>;
  fault(port: number, more?: Partial<FetchRequest> & { path?: string }): Promise<FetchFault>;
  /** A stored body. */
  stored(sha256: string | undefined): Promise<Buffer>;
}

/** A fetcher over a blob store of its own until the test ends; loopback is allowed unless the test says otherwise. */
export async function fetching(options: Partial<GuardedHttpOptions> = {}): Promise<Bench> {
  const root = await mkdtemp(path.join(tmpdir(), 'portico-fetch-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const blobs = createBlobStore(root);
  const fetcher = createCrawlFetcher({ http: client(options), blobs });
  const get: Bench['get'] = (port, { path: at = '/', ...more } = {}) =>
    fetcher.fetch({
      url: `http://127.0.0.1:${port}${at}`,
      headers: { 'user-agent': 'test' },
      policy: { pool: 'test' },
      read: 'page',
      keep: () => true,
      ...more,
    });
  return {
    blobs,
    root,
    get,
    async answer(...call) {
      const result = await get(...call);
      if (!result.ok) throw new Error(`${result.error}: ${result.message}`);
      return result;
    },
    async fault(...call) {
      const result = await get(...call);
      if (result.ok) throw new Error(`answered ${result.status}`);
      return result;
    },
    async stored(sha256) {
      if (sha256 === undefined) throw new Error('nothing was stored');
      const chunks: Buffer[] = [];
      for await (const chunk of blobs.read(sha256)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  };
}

/** A server on 127.0.0.1 that is handed each connection once a request's header block has come. Answers its port. */
export async function raw(answer: (socket: Socket, request: string) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let head = '';
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      const request = head;
      head = '';
      answer(socket, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The head of an answer with a status line and header lines. */
export const head = (status: string, ...lines: string[]): string =>
  `HTTP/1.1 ${status}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
