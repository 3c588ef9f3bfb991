import { expect, it, vi } from 'vitest';
import { RunSite } from '../../../../../src/domain/crawlers/crawl/open/run-site.ts';
import { parseRobots } from '../../../../../src/domain/crawlers/urls/robots.ts';

it.each([
  ['https://own.example', 'https://own.example/a', true],
  ['https://own.example', 'http://own.example/a', false],
  ['https://own.example', 'http://www.own.example/a', false],
  ['https://own.example', 'https://www.own.example/a', true],
  ['https://own.example', 'https://allowed.example/a', false],
  ['http://own.example', 'http://www.own.example/a', true],
  ['http://own.example', 'https://own.example/a', true],
])('a run of %s trusts %s with the headers of its crawler: %s', async (origin, url, expected) => {
  const site = await RunSite.open({
    origin: new URL(origin),
    hosts: ['www.own.example'],
    settings: { include: [], exclude: [], allowed_domains: ['allowed.example'] },
    robots: null,
    crawl: { strip_params: [] },
  });
  expect(site.isTrusted(url)).toBe(expected);
});

it.each([
  ['rules', 'Disallow:/a\n'.repeat(40_000)],
  ['parts between stars', `Disallow:/${'*b'.repeat(240_000)}\nDisallow:/a`],
])('%s of many hosts are held up to a bound, and read again when they are needed', async (_what, lines) => {
  const text = `User-agent: *\nCrawl-delay: 7\n${lines}`;
  const robots = vi.fn(async (_host: string) => ({ state: 'known' as const, rules: await parseRobots(text) }));
  const site = await RunSite.open({
    origin: new URL('https://own.example'),
    hosts: [],
    settings: { include: [], exclude: [], allowed_domains: ['*.evil.example'] },
    robots,
    crawl: { strip_params: [] },
  });
  const hosts = Array.from({ length: 5 }, (_, at) => `${at}.evil.example`);
  for (const host of hosts) await site.robots(host);
  await site.robots('4.evil.example');
  expect(robots.mock.calls.map(([host]) => host)).toEqual(hosts);
  const [first, again] = await Promise.all([site.robots('0.evil.example'), site.robots('0.evil.example')]);
  expect(robots).toHaveBeenCalledTimes(6);
  expect(again).toBe(first);
  expect(first?.isAllowed('https://0.evil.example/a')).toBe(false);
  expect(hosts.map((host) => site.crawlDelay(host))).toEqual(hosts.map(() => 7));
});
