import { beforeAll, expect, it } from 'vitest';
import { SeparatePageReader } from '../../../../src/engines/crawler/page-reader.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawl, urlsOf } from '../../../support/crawlers/crawls.ts';
import { links, page, type Site, serveSite } from '../../../support/sites/site-server.ts';

const site = shared(() => serveSite(() => page('Start')));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host, PORTICO_LOG_LEVEL: 'info' }));

beforeAll(async () => {
  // How long a page may be read is tested elsewhere: a busy machine takes longer than usual for thousands of links.
  app.services.pages = new SeparatePageReader({ limit: 60_000 });
});

const range = (length: number) => Array.from({ length }, (_, index) => index);
const rulesOf = async (run_id: number) =>
  (await urlsOf(app, run_id)).filter(({ state }) => state === 'skipped').map(({ rule }) => rule);

it('ends a calendar at the number of pages', async () => {
  site.become(({ path }) => {
    const month = Number(/^\/month\/(-?\d+)$/.exec(path)?.[1] ?? 0);
    return page(`Month ${month}`, links([`/month/${month - 1}`, `/month/${month + 1}`]));
  });
  const run = await crawl(app, site.host, { max_html: 40 });
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'max_html', counts: { html: 40 } });
});

it('ends visits with an id of their own at the number of requests', async () => {
  let visit = 0;
  site.become(() => page('Visit', links(range(5).map(() => `/visit-${++visit}/page`))));
  const run = await crawl(app, site.host, { max_hits: 60 });
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'max_hits', counts: { requests: 60 } });
  expect(site.paths()).toHaveLength(60);
});

it('ends pages that are never missing at the number of pages', async () => {
  site.become(({ path }) =>
    page('Not found', links(range(3).map((at) => `${path.replace(/\/$/, '')}/x${at}-${path.length}`))),
  );
  const run = await crawl(app, site.host, { max_html: 30 });
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'max_html', counts: { html: 30 } });
});

it('does not go down a relative link that nests', async () => {
  site.become(() => page('Nested', '<a href="a/">deeper</a>'));
  const run = await crawl(app, site.host);
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'done' });
  expect(site.paths()).toEqual(['/', '/a/', '/a/a/', '/a/a/a/']);
  expect(await rulesOf(run.id)).toEqual(['repeated_segment']);
});

it('ends an echo of the address when it has grown too long', async () => {
  site.become(({ path }) => page('Echo', links([`/?x=${encodeURIComponent(path)}${path.length}`])));
  const run = await crawl(app, site.host);
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'done' });
  expect(await rulesOf(run.id)).toEqual(['url_shape']);
});

it('takes a thousand variants of one path and no more', async () => {
  site.become(() => page('Facets', links(range(1_100).map((at) => `/list?f=${at}`))));
  const run = await crawl(app, site.host, { max_hits: 3 });
  const rows = await urlsOf(app, run.id);
  expect(rows.filter(({ url }) => url.includes('/list?'))).toHaveLength(1_100);
  expect(rows.filter(({ rule }) => rule === 'query_fanout')).toHaveLength(100);
});

it('leaves variants that are all the same', async () => {
  site.become(({ path }) =>
    path === '/' ? page('Start', links(range(200).map((at) => `/same?v=${at}`))) : page('Same'),
  );
  const run = await crawl(app, site.host, { workers: 1 });
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'done' });
  const requested = site.paths().filter((path) => path.startsWith('/same'));
  // Those under way when the trap is seen are still requested.
  expect(requested.length).toBeGreaterThan(50);
  expect(requested.length).toBeLessThanOrEqual(60);
  expect((await rulesOf(run.id)).filter((rule) => rule === 'same_content')).toHaveLength(200 - requested.length);
});

it('reads ten thousand links of a page and says that there were more', async () => {
  const many = links(range(20_000).map((at) => `/l${at}`));
  site.become(({ path }) => (path === '/' ? page('Links', many) : page('Leaf')));
  const run = await crawl(app, site.host, { max_hits: 5 });
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'max_hits' });
  expect(await urlsOf(app, run.id)).toHaveLength(10_001);
});

it('distinguishes spellings of one address from similar addresses', async () => {
  const one: Site = ({ path, origin }) => {
    if (path !== '/') return page(path);
    const upper = origin.replace('localhost', 'LocalHost');
    return page(
      'Pairs',
      links([
        '/pair',
        '/./pair',
        '/x/../pair',
        '/pair#a',
        '/p%61ir',
        `${upper}/pair`,
        `${upper}./pair`,
        '/pair?',
        '\\pair',
      ]),
      links([
        '/Pair',
        '/pair/',
        '/pair//',
        '/pair?a=1&b=2',
        '/pair?b=2&a=1',
        '/%2fpair',
        '/%2Fpair',
        '/caf%c3%a9',
        '/café',
      ]),
      links(['/pair;jsessionid=1A2B', '/pair?PHPSESSID=1', '/pair?utm_source=x&gclid=y']),
    );
  };
  site.become(one);
  await crawl(app, site.host);
  expect(site.paths().sort()).toEqual(
    ['/', '/pair', '/Pair', '/pair/', '/pair//', '/pair?a=1&b=2', '/pair?b=2&a=1', '/%2Fpair', '/caf%C3%A9'].sort(),
  );
});

it('does not follow what only a script would', async () => {
  site.become(({ path }) =>
    page(path, '<script>location = "/script"; document.write("<a href=/written>x</a>")</script>'),
  );
  await crawl(app, site.host);
  expect(site.paths()).toEqual(['/']);
});

it('is quick with patterns that are slow elsewhere', async () => {
  const long = `/${'a'.repeat(1_500)}!`;
  site.become(({ path }) => (path === '/' ? page('Start', links([long, '/b'])) : page(path)));
  await crawl(app, site.host, { exclude: ['(a+)+$', '(a|aa)+b$', '(.*a){20}c'], include: ['/(x+x+)+y|/a|/b'] });
  expect(site.paths().sort()).toEqual(['/', long, '/b'].sort());
});
