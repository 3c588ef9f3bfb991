import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SiteAnswer {
  /** Default 200. */
  status?: number;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

export interface SiteRequest {
  /** Path and query as they came. */
  path: string;
  headers: IncomingHttpHeaders;
  /** How often this path was requested before. */
  before: number;
  /** `http://localhost:<port>`, as links of the site begin. */
  origin: string;
  raw: IncomingMessage;
}

/** What a site says to a request; undefined is 404. One that answers by itself gets the response and returns `null`. */
export type Site = (request: SiteRequest, response: ServerResponse) => SiteAnswer | undefined | null;

export interface LoggedRequest {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  /** Milliseconds since 1970 when it came. */
  at: number;
}

export interface SiteServer {
  port: number;
  /** `localhost:<port>`. */
  host: string;
  origin: string;
  /** Every request in the order of coming. */
  log: LoggedRequest[];
  /** Paths requested, besides robots.txt. */
  paths(): string[];
  /** Replaces what is served and forgets the log. */
  become(site: Site): void;
  close(): Promise<void>;
}

function send(response: ServerResponse, answer: SiteAnswer | undefined): void {
  const { status = 200, headers = {}, body = '' } = answer ?? { status: 404, body: 'nothing here' };
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), ...headers });
  response.end(body);
}

/** The same site, each answer so many milliseconds later: there is time to disturb a crawl of it. */
export const slowly =
  (site: Site, milliseconds: number): Site =>
  (request, response) => {
    const answer = site(request, response);
    setTimeout(() => send(response, answer ?? undefined), milliseconds);
    return null;
  };

/** Serves a site on loopback and keeps a log of the requests. */
export async function serveSite(first: Site): Promise<SiteServer> {
  let site = first;
  const log: LoggedRequest[] = [];
  const requested = new Map<string, number>();
  let origin = '';
  const server = createServer((raw, response) => {
    const path = raw.url ?? '/';
    const before = requested.get(path) ?? 0;
    requested.set(path, before + 1);
    log.push({ path, method: raw.method ?? '', headers: raw.headers, at: Date.now() });
    const answer = site({ path, headers: raw.headers, before, origin, raw }, response);
    if (answer !== null) send(response, answer);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  origin = `http://localhost:${port}`;
  return {
    port,
    host: `localhost:${port}`,
    origin,
    log,
    paths: () => log.map(({ path }) => path).filter((path) => path !== '/robots.txt'),
    become(next) {
      site = next;
      log.length = 0;
      requested.clear();
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** An HTML page. */
export const page = (title: string, ...content: string[]): SiteAnswer => ({
  headers: { 'Content-Type': 'text/html; charset=utf-8' },
  body: `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1>${content.join('\n')}</body></html>`,
});

/** Links to these addresses. */
export const links = (hrefs: Iterable<string>): string =>
  [...hrefs].map((href) => `<a href="${href.replaceAll('&', '&amp;')}">x</a>`).join('\n');

export const redirect = (location: string, status = 302): SiteAnswer => ({ status, headers: { Location: location } });

/** A site of addresses with one answer each. */
export const fixedSite =
  (answers: ReadonlyMap<string, SiteAnswer>): Site =>
  ({ path }) =>
    answers.get(path);
