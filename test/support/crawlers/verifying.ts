import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createGuardedHttp } from '../../../src/engines/http/guarded-http.ts';
import { acme, startTestApp, type TestApp } from '../app.ts';
import { type DnsServer, startDnsServer } from '../dns-server.ts';

export const crawlers = `${acme}/projects/site/crawlers`;
/** Where a proof by file lies. */
export const file = '/.well-known/portico-verification.txt';

/** An application whose names all lead to one server on loopback, and whose DNS is a list. */
export interface Verifying {
  app: TestApp;
  dns: DnsServer;
  /** Of the server all names lead to. */
  port: number;
  /** Number of the organisation. */
  organization: number;
  /** Says what that server answers from now on. */
  serve(listener: RequestListener): void;
  /** Serves texts by path; everything else is 404. */
  pages(texts: Record<string, string>): void;
  /** Makes a crawler of a new host, and starts its verification. */
  crawler(draft?: object): Promise<VerifiedCrawler>;
  stop(): Promise<void>;
}

export interface VerifiedCrawler {
  at: string;
  domain: string;
  /** The registrable domain. */
  name: string;
  token: string;
  ask(method: string, where: string, input?: object): ReturnType<TestApp['ask']>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  start(host?: string): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  check(input?: object): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  read(): Promise<any>;
}

/** What each method of a check has found. */
export const outcomes = ({ checks }: { checks: { method: string; outcome: string }[] }) =>
  Object.fromEntries(checks.map(({ method, outcome }) => [method, outcome]));

/** One for a file of tests, given once it has started: each test finds no name, no page and the true time. */
export function useVerifying(give: (setting: Verifying) => void): void {
  let setting: Verifying | undefined;
  beforeAll(async () => {
    setting = await startVerifying();
    give(setting);
  });
  beforeEach(() => {
    setting?.dns.zone.clear();
    setting?.pages({});
  });
  afterEach(() => {
    if (setting) setting.app.clock.now = null;
  });
  afterAll(() => setting?.stop());
}

async function startVerifying(): Promise<Verifying> {
  let listener: RequestListener = (_request, response) => response.writeHead(404).end();
  const dns = await startDnsServer();
  const site = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  const { port } = site.address() as AddressInfo;
  const app = await startTestApp({ PORTICO_DNS_SERVERS: dns.address, PORTICO_TRUSTED_DOMAINS: 'trusted.example' });
  await app.services.http.close();
  // Every name is this machine, as it would be of a site whose server stands there.
  app.services.http = createGuardedHttp({ allowedCidrs: ['127.0.0.1'], resolve: async () => ['127.0.0.1'] });
  const [{ id: organization }] = (await app.services.orm.em
    .fork()
    .execute("select id from organization where machine_name = 'acme'")) as [{ id: number }];
  let count = 0;
  return {
    app,
    dns,
    port,
    organization,
    serve(next) {
      listener = next;
    },
    pages(texts) {
      listener = (request, response) => {
        const text = texts[request.url ?? ''];
        if (text === undefined) response.writeHead(404).end();
        else response.end(text);
      };
    },
    async crawler(draft = {}) {
      count += 1;
      const domain = `www.site${count}.example:${port}`;
      const { body } = await app.ask('POST', crawlers, { body: { domain, ...draft } });
      const at = `${crawlers}/${body.uuid}`;
      const ask: VerifiedCrawler['ask'] = (method, where, input) =>
        app.ask(method, `${at}/verification${where}`, input === undefined ? {} : { body: input });
      const start = async (host?: string) => (await ask('POST', '', host === undefined ? {} : { host })).body;
      const check = async (input: object = {}) => (await ask('POST', '/check', input)).body;
      const { token } = await start();
      const name = `site${count}.example`;
      return { at, domain, name, token, ask, start, check, read: async () => (await app.ask('GET', at)).body };
    },
    async stop() {
      await app.stop();
      site.close();
      await dns.close();
    },
  };
}
