import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type SitePage, sitePages } from './site-pages.ts';

/** What the parent requests: another edition of the site, or the requests since. */
export type SiteOrder = { kind: 'become'; pages: number; edition: number } | { kind: 'tally' };

/** Requests since the last `become`. */
export interface SiteTally {
  /** Answers with a page, with 304, and with 404; robots.txt apart. */
  pages: number;
  unchanged: number;
  missing: number;
  /** Bytes of bodies. */
  bytes: number;
  /** Milliseconds since 1970; 0: none came. */
  first: number;
  last: number;
  /** Addresses that were requested more than once. */
  repeated: number;
}

const none = (): SiteTally => ({ pages: 0, unchanged: 0, missing: 0, bytes: 0, first: 0, last: 0, repeated: 0 });
let site = new Map<string, SitePage>();
let tally = none();
let requested = new Set<string>();

/** The site is served from memory by a process of its own, so that it shares no event loop with anything measured. */
const server = createServer((request, response) => {
  const url = request.url ?? '/';
  const page = site.get(url);
  if (page === undefined) {
    if (url !== '/robots.txt') tally.missing += 1;
    response.writeHead(404, { 'content-length': 0 }).end();
    return;
  }
  tally.last = Date.now();
  tally.first ||= tally.last;
  if (requested.has(url)) tally.repeated += 1;
  requested.add(url);
  if (request.headers['if-none-match'] === page.etag) {
    tally.unchanged += 1;
    response.writeHead(304, { etag: page.etag }).end();
    return;
  }
  tally.pages += 1;
  tally.bytes += page.body.length;
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-length': page.body.length, etag: page.etag };
  response.writeHead(200, headers).end(page.body);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));

process.on('message', (order: SiteOrder) => {
  if (order.kind === 'tally') return void process.send?.(tally);
  if (order.pages > 0) site = sitePages(order.pages, order.edition);
  tally = none();
  requested = new Set();
  process.send?.(tally);
});
