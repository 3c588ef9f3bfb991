import { expect, it } from 'vitest';
import { RunSite } from '../../../../../src/domain/crawlers/crawl/open/run-site.ts';

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
