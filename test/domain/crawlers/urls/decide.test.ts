import { describe, expect, it } from 'vitest';
import { siblingOf } from '../../../../src/domain/crawlers/config/host.ts';
import {
  createDecider,
  type DecideContext,
  PatternError,
  scopeTest,
} from '../../../../src/domain/crawlers/urls/decide.ts';
import { parseRobots } from '../../../../src/domain/crawlers/urls/robots.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';

const scope = {
  origin: new URL('https://example.com'),
  hosts: ['www.example.com'],
  allowed: ['*.cdn.example', 'docs.example:8080'],
};
const page: DecideContext = { kind: 'page', isEntry: false };
const decider = (include: string[] = [], exclude: string[] = []) => createDecider({ scope, include, exclude });
const ruleOf = async (url: string, context = page, include: string[] = [], exclude: string[] = []) => {
  const decision = await (await decider(include, exclude))(url, context);
  return decision.verdict === 'take' ? 'take' : decision.rule;
};

describe('scope', () => {
  const isIn = scopeTest(scope);
  it.each([
    ['https://example.com/', true],
    ['http://example.com/', true],
    ['https://www.example.com/', true],
    ['https://a.cdn.example/', true],
    ['https://a.b.cdn.example/', true],
    ['https://cdn.example/', false],
    ['https://evilcdn.example/', false],
    ['https://docs.example:8080/', true],
    ['https://docs.example/', false],
    ['https://example.com:8443/', false],
    ['https://example.com.evil.test/', false],
    ['https://sub.example.com/', false],
  ])('%s: %s', (url, expected) => expect(isIn(new URL(url))).toBe(expected));

  it.each([
    ['example.com', 'www.example.com'],
    ['www.example.com', 'example.com'],
    ['example.com:8080', 'www.example.com:8080'],
    ['localhost', null],
    ['127.0.0.1:80', null],
    ['[::1]', null],
  ])('the sibling of %s is %s', (host, sibling) => expect(siblingOf(host)).toBe(sibling));
});

describe('filters', () => {
  it('looks at the whole URL, unanchored, query and all', async () => {
    expect(await ruleOf('https://example.com/a?print=1', page, [], ['print=1$'])).toBe('exclude[0]');
    expect(await ruleOf('https://example.com/a', page, [], ['^https://example'])).toBe('exclude[0]');
    expect(await ruleOf('https://example.com/A', page, [], ['/a'])).toBe('take');
    expect(await ruleOf('https://example.com/A', page, [], ['(?i)/a'])).toBe('exclude[0]');
  });

  it('names the pattern that excludes, the first of several', async () => {
    expect(await ruleOf('https://example.com/x', page, [], ['/a', '/b', '/c', '/x', 'x'])).toBe('exclude[3]');
  });

  it('lets exclude win over include, and scope over both', async () => {
    expect(await ruleOf('https://example.com/a', page, ['/a'], ['/a'])).toBe('exclude[0]');
    expect(await ruleOf('https://other.test/a', page, ['/a'], ['/a'])).toBe('scope');
  });

  it('needs one pattern of include, of pages that are no entries', async () => {
    const include = ['/docs/', '/blog/'];
    expect(await ruleOf('https://example.com/blog/1', page, include)).toBe('take');
    expect(await ruleOf('https://example.com/shop', page, include)).toBe('include');
    expect(await ruleOf('https://example.com/shop', { ...page, isEntry: true }, include)).toBe('take');
    expect(await ruleOf('https://example.com/a.png', { kind: 'asset', isEntry: false }, include)).toBe('take');
    expect(await ruleOf('https://example.com/s.xml', { kind: 'sitemap', isEntry: false }, include)).toBe('take');
  });

  it('excludes entries, assets and sitemaps, too', async () => {
    for (const kind of ['page', 'asset', 'sitemap'] as const)
      expect(await ruleOf('https://example.com/x', { kind, isEntry: true }, [], ['/x'])).toBe('exclude[0]');
  });

  it('asks robots after filters and before traps', async () => {
    const robots = await parseRobots('User-agent: *\nDisallow: /private');
    const trap = `https://example.com/private${'/a'.repeat(5)}`;
    expect(await ruleOf(trap, { ...page, robots })).toBe('robots');
    expect(await ruleOf(trap, { ...page, robots }, ['/docs'])).toBe('include');
    expect(await ruleOf(trap, { ...page, robots: null })).toBe('repeated_segment');
  });

  it('stays linear where others would not', async () => {
    const decide = await decider([], ['(a+)+$']);
    expect(await decide(`https://example.com/${'a'.repeat(1_900)}!`, page)).toEqual({ verdict: 'take' });
  });

  it('lets others have their turn between patterns, while they are compiled and while they decide', async () => {
    const patterns = Array.from({ length: 200 }, (_, at) => `/nothing-${at}$`);
    expect(await iterationsDuring(() => decider([], patterns))).toBeGreaterThan(5);
    for (const decide of [await decider([], patterns), await decider(patterns, [])])
      expect(await iterationsDuring(() => decide('https://example.com/', page))).toBeGreaterThan(5);
  });

  it('holds no URL against a pattern that is too long anyway', async () => {
    const long = `https://example.com/${'a'.repeat(2_048)}`;
    expect(await ruleOf(long, page, ['/b'], ['a'])).toBe('url_shape');
    expect(await ruleOf(long.replace('.com', '.test'), page, [], ['a'])).toBe('scope');
  });

  it.each(['(', 'a{2000}', '(?=a)', '(a)\\1', '[z-a]'])('refuses %j and says where', async (pattern) => {
    const error = await decider(['ok'], ['ok', pattern]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PatternError);
    expect(error).toMatchObject({ index: 1, message: expect.stringMatching(/\S/) });
  });
});

describe('traps of a URL', () => {
  const at = (path: string) => ruleOf(`https://example.com${path}`);
  const distinct = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`).join('/');

  it.each([
    ['2,048 characters', `/${'a'.repeat(2_048 - 'https://example.com/'.length)}`, 'take'],
    ['2,049 characters', `/${'a'.repeat(2_049 - 'https://example.com/'.length)}`, 'url_shape'],
    ['32 segments', `/${distinct(32)}`, 'take'],
    ['32 segments and a slash', `/${distinct(32)}/`, 'take'],
    ['33 segments', `/${distinct(33)}`, 'url_shape'],
    ['32 parameters', `/?${distinct(32).replaceAll('/', '&')}`, 'take'],
    ['33 parameters', `/?${distinct(33).replaceAll('/', '&')}`, 'url_shape'],
    ['3 in a row', '/a/a/a/', 'take'],
    ['4 in a row', '/a/a/a/a/', 'repeated_segment'],
    ['5 in all', '/a/b/a/c/a/d/a/e/a', 'take'],
    ['6 in all', '/a/b/a/c/a/d/a/e/a/f/a', 'repeated_segment'],
    ['an inherited name', '/constructor/x', 'take'],
  ])('%s', async (_, path, expected) => expect(await at(path)).toBe(expected));
});

it('takes nothing that is no URL', async () => {
  expect(await (await decider())('no url', page)).toEqual({ verdict: 'skip', rule: 'scope' });
});
