import { expect, it } from 'vitest';
import { fetchRobots } from '../../../../../src/domain/crawlers/crawl/open/host-robots.ts';
import type { FetchRequest } from '../../../../../src/ports/fetcher.ts';

it('sends what a crawler sends of itself to its own host alone, wherever robots.txt leads', async () => {
  const hops = new Map([
    ['http://own.example/robots.txt', 'https://own.example/robots.txt'],
    ['https://own.example/robots.txt', 'https://elsewhere.example/r.txt'],
    ['https://elsewhere.example/r.txt', 'https://own.example/r.txt'],
  ]);
  const requested: Pick<FetchRequest, 'url' | 'headers'>[] = [];
  const fetch = async ({ url, headers }: FetchRequest) => {
    requested.push({ url, headers });
    const location = hops.get(url) ?? null;
    const found = {
      contentType: 'text/plain',
      isSniffed: false,
      body: null,
      isCut: false,
      bytesWire: 0,
      durationMs: 0,
    };
    const bytes = Buffer.from('User-agent: *\nDisallow: /a');
    return { ok: true as const, status: location ? 302 : 200, headers: {}, location, bytes, ...found };
  };
  const own = { accept: '*/*', 'user-agent': 'Robot/1', authorization: 'Basic x', 'x-key': 'y' };
  const answer = await fetchRobots({
    fetcher: { fetch },
    origin: 'http://own.example',
    request: { headers: own, policy: {} },
    signal: new AbortController().signal,
    pause: async () => {},
  });
  expect(answer.movedTo).toBe('https://own.example/robots.txt');
  expect(requested).toEqual([
    { url: 'http://own.example/robots.txt', headers: own },
    { url: 'https://own.example/robots.txt', headers: own },
    { url: 'https://elsewhere.example/r.txt', headers: { accept: '*/*', 'user-agent': 'Robot/1' } },
    { url: 'https://own.example/r.txt', headers: own },
  ]);
});

it('sends nothing of a crawler in plain text where https leads to http', async () => {
  const requested: Pick<FetchRequest, 'url' | 'headers'>[] = [];
  const rest = {
    contentType: null,
    isSniffed: false,
    body: null,
    bytes: null,
    isCut: false,
    bytesWire: 0,
    durationMs: 0,
  };
  const fetch = async ({ url, headers }: FetchRequest) => {
    requested.push({ url, headers });
    const location = url.startsWith('https:') ? url.replace('https:', 'http:') : null;
    return { ok: true as const, status: location ? 302 : 404, headers: {}, location, ...rest };
  };
  const own = { 'user-agent': 'Robot/1', authorization: 'Basic x' };
  await fetchRobots({
    fetcher: { fetch },
    origin: 'https://own.example',
    request: { headers: own, policy: {} },
    signal: new AbortController().signal,
    pause: async () => {},
  });
  expect(requested).toEqual([
    { url: 'https://own.example/robots.txt', headers: own },
    { url: 'http://own.example/robots.txt', headers: { 'user-agent': 'Robot/1' } },
  ]);
});
