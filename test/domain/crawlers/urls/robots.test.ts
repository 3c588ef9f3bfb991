import { createRequire } from 'node:module';
import type robots from 'robots-parser';
import { describe, expect, it } from 'vitest';
import {
  allowAll,
  disallowAll,
  maxRobotsBytes,
  mostSearched,
  parseRobots,
  robotsAnswer,
  robotsText,
} from '../../../../src/domain/crawlers/urls/robots.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';
import fc from '../../../support/properties.ts';

// Its types describe an ES module, which it is not.
const robotsParser: typeof robots.default = createRequire(import.meta.url)('robots-parser');

const site = 'https://example.com';
const isAllowed = async (text: string, path: string) => (await parseRobots(text)).isAllowed(site + path);
const all = (rules: string) => `User-agent: *\n${rules}`;

it('reads a file of tens of thousands of names and rules in memory of its size', async () => {
  const names = Array.from({ length: 17_000 }, (_, index) =>
    [...index.toString(26)].map((digit) => String.fromCharCode(97 + Number.parseInt(digit, 26))).join(''),
  );
  const text = `${['portico', ...names, '*'].map((name) => `user-agent:${name}`).join('\n')}\n${'disallow:/a\n'.repeat(20_000)}`;
  expect(text.length).toBeLessThan(maxRobotsBytes);
  // Each rule is kept for the two names that count at most, not for each of them: together they would need gigabytes.
  const before = process.memoryUsage().heapTotal;
  expect(await isAllowed(text, '/ab')).toBe(false);
  expect(process.memoryUsage().heapTotal - before).toBeLessThan(200 * 1024 ** 2);
});

it.each([
  ['the same rule', 'Allow:/\n'.repeat(62_000)],
  ['different rules', Array.from({ length: 45_000 }, (_, at) => `Allow:/${at.toString(36)}\n`).join('')],
  ['rules with stars', `Disallow:/${'*b'.repeat(100)}\n`.repeat(2_400)],
  ['sitemaps', `Sitemap:${'a'.repeat(300)}\n`.repeat(1_600)],
])('holds no more than a file of %s does', async (_what, lines) => {
  const text = all(lines);
  expect((await parseRobots(text)).size).toBeLessThan(text.length);
});

it('lets others have their turn while it reads a file', async () => {
  expect(await iterationsDuring(() => parseRobots(all('Allow:/\n'.repeat(62_000))))).toBeGreaterThan(1_000);
});

it('leaves out a rule that is longer than any URL, and counts stars in a row as one', async () => {
  expect((await parseRobots(all(`Disallow: /${'ä'.repeat(250_000)}`))).size).toBe((await parseRobots('')).size);
  expect(await isAllowed(all(`Disallow: /${'*'.repeat(250_000)}b`), '/ab')).toBe(false);
});

it('searches so much of a URL for all rules with stars, and takes those beyond by what is before their first star', async () => {
  const path = `/${'a'.repeat(999)}`;
  const most = Math.ceil(mostSearched / path.length);
  const rules = (count: number, last: string) => all(`${'Disallow: /*bc\n'.repeat(count)}${last}`);
  expect(await isAllowed(rules(most, ''), path)).toBe(true);
  expect(await isAllowed(rules(most + 1, ''), path)).toBe(false);
  expect(await isAllowed(rules(most, 'Allow: /*a\nDisallow: /a\n'), path)).toBe(false);
  // Rules without stars count as before, and shorter URLs are not affected.
  expect(await isAllowed(rules(most + 1, 'Allow: /aaaaaa\n'), path)).toBe(true);
  expect(await isAllowed(rules(most + 1, ''), '/a')).toBe(true);
});

describe('an answer for robots.txt', () => {
  it.each([
    [200, 'read'],
    [206, 'read'],
    [301, 'follow'],
    [308, 'follow'],
    [304, 'allow_all'],
    [400, 'allow_all'],
    [401, 'allow_all'],
    [403, 'allow_all'],
    [404, 'allow_all'],
    [429, 'retry'],
    [500, 'retry'],
    [503, 'retry'],
  ])('%i means %s', (status, meaning) => expect(robotsAnswer(status)).toBe(meaning));

  it('allows and disallows everything', () => {
    expect(allowAll.isAllowed(`${site}/a`)).toBe(true);
    expect(disallowAll.isAllowed(`${site}/a`)).toBe(false);
    expect(disallowAll.isAllowed(`${site}/robots.txt`)).toBe(true);
  });
});

describe('the text', () => {
  const rules = all('Disallow: /ä');
  it.each([
    ['UTF-8', Buffer.from(rules)],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${rules}`)],
    ['UTF-16 LE with a mark', Buffer.from(`\ufeff${rules}`, 'utf16le')],
    ['UTF-16 BE with a mark', Buffer.from(`\ufeff${rules}`, 'utf16le').swap16()],
  ])('is read as %s', async (_, bytes) => {
    expect(await isAllowed(robotsText(bytes), '/%C3%A4')).toBe(false);
    expect(await isAllowed(robotsText(bytes), '/b')).toBe(true);
  });

  it('counts up to 512 KiB', async () => {
    const file = (size: number) => Buffer.from(`${all('').padEnd(size, '#')}\nDisallow: /late\n`);
    expect(await isAllowed(robotsText(file(maxRobotsBytes - 100)), '/late')).toBe(false);
    expect(await isAllowed(robotsText(file(maxRobotsBytes)), '/late')).toBe(true);
    expect(robotsText(file(2 * 1024 * 1024)).length).toBe(maxRobotsBytes);
  });

  it('is empty when it is HTML', async () => {
    expect(robotsText(Buffer.from(`<!DOCTYPE html><pre>\n${all('Disallow: /')}`))).toBe('');
  });
});

describe('rules', () => {
  it.each([
    ['Disallow: /a', '/a', false],
    ['Disallow: /a', '/abc?d', false],
    ['Disallow: /a', '/b/a', true],
    ['Disallow: /A', '/a', true],
    ['Disallow:', '/a', true],
    ['Disallow: /', '/a', false],
    ['Disallow: /\nAllow: /a', '/a', true],
    ['Allow: /a\nDisallow: /a', '/a', true],
    ['Disallow: /a\nAllow: /a/b', '/a/b/c', true],
    ['Disallow: /a/b\nAllow: /a', '/a/b/c', false],
    ['Disallow: /*.gif$', '/x/y.gif', false],
    ['Disallow: /*.gif$', '/x/y.gif?a', true],
    ['Disallow: /*.gif', '/x/y.gif?a', false],
    ['Disallow: /a*b*c', '/a-b-c', false],
    ['Disallow: /a*b*c', '/a-c-b', true],
    ['Disallow: /a*aa$', '/aa', true],
    ['Disallow: /a*aa$', '/aaa', false],
    ['Disallow: /a$b', '/a$b', false],
    ['Disallow: /a$b', '/a', true],
    ['Disallow: /$', '/', false],
    ['Disallow: /$', '/a', true],
    ['Disallow: *', '/a', false],
    ['Disallow: */print', '/a/print', false],
    ['Disallow: /a/%2A', '/a/*', false],
    ['Disallow: /%7Ejoe', '/~joe/index', false],
    ['Disallow: /a%2fb', '/a%2Fb', false],
    ['Disallow: /a%2fb', '/a/b', true],
    ['Disallow: /ツ', '/%E3%83%84', false],
    ['Disallow: /*?', '/a?b', false],
    ['Disallow: /*?', '/a', true],
    ['Disallow: a', '/a', true],
    ['Disallow: /a # why', '/a', false],
    ['Disallow : /a', '/a', false],
    ['  disallow:/a', '/a', false],
    ['Disallow: /', '/robots.txt', true],
  ])('%j and %s: %s', async (rule, path, expected) => expect(await isAllowed(all(rule), path)).toBe(expected));

  it.each([
    [
      'our own group, whatever its case and version',
      'User-agent: *\nDisallow: /\nUser-agent: PORTICO/2.0\nDisallow: /x',
      true,
    ],
    ['our own group, even when it forbids nothing', 'User-agent: Portico\nDisallow:\nUser-agent: *\nDisallow: /', true],
    [
      'all of our own groups',
      'User-agent: portico\nDisallow: /x\nUser-agent: b\nDisallow: /y\nUser-agent: portico\nDisallow: /a',
      false,
    ],
    ['groups with several names', 'User-agent: b\nUser-agent: Portico\nDisallow: /a', false],
    ['names with a sitemap between them', 'User-agent: Portico\nSitemap: /s\nUser-agent: b\nDisallow: /a', false],
    ['no group of a longer name', 'User-agent: PorticoBot\nDisallow: /a', true],
    ['no rule before the first name', 'Disallow: /a\nUser-agent: *\nDisallow: /b', true],
    ['everything, of a file without groups', 'nothing: here', true],
    ['lines that end in CR', 'User-agent: *\rDisallow: /a\r', false],
    ['an inherited name', 'User-agent: constructor\nDisallow: /b\nUser-agent: *\nDisallow: /a', false],
  ])('obeys %s', async (_, text, expected) => expect(await isAllowed(text, '/a')).toBe(expected));

  it('agrees with another parser', async () => {
    const path = fc
      .array(fc.constantFrom('/', 'a', 'b', 'aa', '?', '='), { maxLength: 8 })
      .map((parts) => `/${parts.join('')}`);
    const rule = fc.tuple(
      fc.constantFrom('Allow', 'Disallow'),
      fc.array(fc.constantFrom('/', 'a', 'b', 'aa', '*', '?'), { maxLength: 8 }),
      fc.constantFrom('', '$'),
    );
    const group = fc.tuple(fc.constantFrom('*', 'portico', 'other'), fc.array(rule, { minLength: 1, maxLength: 5 }));
    await fc.assert(
      fc.asyncProperty(fc.array(group, { maxLength: 4 }), path, async (groups, path) => {
        const text = groups
          .map(([agent, rules]) =>
            [
              `User-agent: ${agent}`,
              ...rules.map(([name, parts, end]) => `${name}: /${parts.join('').replace(/\*+/g, '*')}${end}`),
            ].join('\n'),
          )
          .join('\n');
        const other = robotsParser(`${site}/robots.txt`, text);
        expect(await isAllowed(text, path)).toBe(other.isAllowed(site + path, 'Portico'));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes a hostile file in its stride', async () => {
    const rules = await parseRobots(all(`Disallow: /*${'a*'.repeat(900)}b\n`.repeat(250)));
    expect(rules.isAllowed(`${site}/${'a'.repeat(2_000)}`)).toBe(true);
  });

  it('never throws', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.webUrl(), async (text, url) => {
        const rules = await parseRobots(`User-agent: *\nDisallow: ${text}\n${text}`);
        expect(rules.isAllowed(url)).toBeTypeOf('boolean');
      }),
    );
  });
});

describe('beside rules', () => {
  it.each([
    ['Crawl-delay: 2.5', 2.5],
    ['Crawl-delay: 60', 60],
    ['Crawl-delay: 61', 60],
    ['Crawl-delay: 0', 0],
    ['Crawl-delay: -1', null],
    ['Crawl-delay: soon', null],
    ['Crawl-delay: Infinity', null],
    ['Crawl-delay: 1\nCrawl-delay: 5', 5],
    ['Disallow: /', null],
  ])('%j is a delay of %s', async (line, delay) => expect((await parseRobots(all(line))).crawlDelay).toBe(delay));

  it('takes the delay of its own group only', async () => {
    const text = 'User-agent: *\nCrawl-delay: 9\nUser-agent: portico\nDisallow: /x';
    expect((await parseRobots(text)).crawlDelay).toBeNull();
  });

  it('lists sitemaps, wherever they stand', async () => {
    const text = `Sitemap: ${site}/a.xml\nUser-agent: x\nSITEMAP:/b.xml # second\nSitemap:\n`;
    expect((await parseRobots(text)).sitemaps).toEqual([`${site}/a.xml`, '/b.xml']);
  });
});
