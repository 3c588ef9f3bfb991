import { expect, it, vi } from 'vitest';
import { RunSite } from '../../../../../src/domain/crawlers/crawl/open/run-site.ts';
import { allowAll, parseRobots, type RobotsRules } from '../../../../../src/domain/crawlers/urls/robots.ts';

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

/** A run whose hosts all have the same rules, and what it reads of them. */
async function runWith(rules: RobotsRules) {
  const robots = vi.fn(async (_host: string) => ({ state: 'known' as const, rules }));
  const site = await RunSite.open({
    origin: new URL('https://own.example'),
    hosts: [],
    settings: { include: [], exclude: [], allowed_domains: ['*.evil.example'] },
    robots,
    crawl: { strip_params: [] },
  });
  return { site, robots };
}

const hostNames = (count: number) => Array.from({ length: count }, (_, at) => `${at}.evil.example`);

it('keeps the rules of dozens of hosts whose files are as large as they count, each read once', async () => {
  const { site, robots } = await runWith(await parseRobots(`User-agent: *\n${'Allow:/\n'.repeat(62_000)}`));
  const hosts = hostNames(60);
  for (let round = 0; round < 3; round += 1) for (const host of hosts) await site.robots(host);
  expect(robots.mock.calls.map(([host]) => host)).toEqual(hosts);
});

it.each([
  ['rules', 'Disallow:/a\n'.repeat(40_000)],
  ['parts between stars', `${`Disallow:/${'*b'.repeat(8_000)}\n`.repeat(30)}Disallow:/a`],
])('%s of many hosts are held up to a bound, and read again when they are needed', async (_what, lines) => {
  const rules = await parseRobots(`User-agent: *\nCrawl-delay: 7\n${lines}`);
  const { site, robots } = await runWith(rules);
  const hosts = hostNames(Math.floor((32 * 1024 * 1024) / rules.size) + 1);
  for (const host of hosts) await site.robots(host);
  await site.robots(hosts.at(-1) ?? '');
  expect(robots.mock.calls.map(([host]) => host)).toEqual(hosts);
  const [first, again] = await Promise.all([site.robots('0.evil.example'), site.robots('0.evil.example')]);
  expect(robots).toHaveBeenCalledTimes(hosts.length + 1);
  expect(again).toBe(first);
  expect(first?.isAllowed('https://0.evil.example/a')).toBe(false);
  expect(hosts.map((host) => site.crawlDelay(host))).toEqual(hosts.map(() => 7));
});

it('reads so much of rules for pages in a browser, and then refuses them what it would have to read', async () => {
  const { site, robots } = await runWith({ ...allowAll, size: 20 * 1024 * 1024 });
  const [one = '', other = ''] = hostNames(2);
  const allows = async (host: string, isForPage: boolean) =>
    (await site.robots(host, isForPage))?.isAllowed(`https://${host}/a`);
  // Only one of them fits in memory.
  for (let times = 0; times < 100; times += 1) for (const host of [one, other]) await site.robots(host, true);
  expect(robots).toHaveBeenCalledTimes(7);
  expect(await allows(one, true)).toBe(true);
  expect(await allows(other, true)).toBe(false);
  // What the run fetches itself counts towards its limits.
  expect(await allows(other, false)).toBe(true);
  expect(robots).toHaveBeenCalledTimes(8);
});
