import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acme, startTestApp, type TestApp } from '../../support/app.ts';
import { expectRefusal } from '../../support/refusal.ts';

const crawlers = `${acme}/projects/site/crawlers`;

let app: TestApp;
let site: Server;
let host: string;
let requested: (string | undefined)[];
beforeAll(async () => {
  requested = [];
  site = createServer((request, response) => {
    requested.push(`${request.url} ${request.headers['x-key'] ?? ''}`);
    response.end('User-agent: *\nDisallow: /private\n');
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  host = `localhost:${(site.address() as AddressInfo).port}`;
  app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: host });
});
afterAll(async () => {
  await app?.stop();
  site?.close();
});

async function tester(draft: object = {}) {
  const { body } = await app.ask('POST', crawlers, { body: { domain: `http://${host}`, ...draft } });
  return (url: string) => app.ask('POST', `${crawlers}/${body.uuid}/test-url`, { body: { url } });
}

describe('test-url', () => {
  it('returns the normalized URL, the decision and its rule', async () => {
    const test = await tester({
      start_urls: ['/start.html'],
      include: ['/docs/', '/private'],
      exclude: ['\\.tmp$', '/docs/old'],
      headers: { 'X-Key': 'k' },
    });
    const taken = await test('/docs/./a?utm_source=x#f');
    expect([taken.status, taken.body]).toEqual([
      200,
      { normalised: `http://${host}/docs/a`, in_scope: true, decision: 'take', rule: null, robots: 'allowed' },
    ]);
    const rules = async (url: string) => {
      const { in_scope, decision, rule, robots } = (await test(url)).body;
      return [in_scope, decision, rule, robots];
    };
    expect(await rules('/docs/old/x')).toEqual([true, 'skip', 'exclude[1]', 'allowed']);
    expect(await rules('/docs/a.tmp')).toEqual([true, 'skip', 'exclude[0]', 'allowed']);
    expect(await rules('/else')).toEqual([true, 'skip', 'include', 'allowed']);
    expect(await rules('/start.html')).toEqual([true, 'take', null, 'allowed']);
    expect(await rules('/private/x')).toEqual([true, 'skip', 'robots', 'disallowed']);
    expect(await rules('/docs/a/a/a/a/a')).toEqual([true, 'skip', 'repeated_segment', 'allowed']);
    expect(await rules('https://else.example/')).toEqual([false, 'skip', 'scope', 'not_asked']);
    // Robots are requested once, with the crawler's own headers.
    expect(requested).toEqual(['/robots.txt k']);
  });

  it('applies ignore_robots of a verified domain', async () => {
    const test = await tester({ ignore_robots: true });
    expect((await test('/private')).body).toMatchObject({ decision: 'take', robots: 'ignored' });
  });

  it.each(['mailto:a@b.example', '', 'http://u:p@localhost/'])('400: %s', async (url) => {
    const test = await tester();
    expectRefusal(await test(url), 400, 'invalid_request', 'url: must be a path or an http(s) URL');
  });
});
