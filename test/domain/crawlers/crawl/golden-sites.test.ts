import { expect, it } from 'vitest';
import { shared, startTestApp } from '../../../support/app.ts';
import {
  crawl,
  expectCountsOfRows,
  makeCrawler,
  queue,
  urlsOf,
  workThrough,
} from '../../../support/crawlers/crawls.ts';
import {
  chainSite,
  cliqueSite,
  faultsSite,
  filterCases,
  filterPaths,
  filtersSite,
  hopsSite,
  mapsSite,
} from '../../../support/sites/golden.ts';
import { serveSite } from '../../../support/sites/site-server.ts';
import { treeChanges, treeSite } from '../../../support/sites/tree.ts';

const site = shared(() => serveSite(tree.site));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host, PORTICO_LOG_LEVEL: 'info' }));
const tree = treeSite();

it('captures a tree with all its assets, each requested once, and what it has is requested again only if it changed', async () => {
  site.become(tree.site);
  const id = await makeCrawler(app, site.host);
  const first = await workThrough(app, await queue(app, id));
  expect(first).toMatchObject({ status: 'completed', finish_reason: 'done' });
  expect(first.counts).toMatchObject({ html: 781, assets: 784, requests: 1565, captured: 1565, new: 1565, errors: 0 });
  expect(site.paths().sort()).toEqual([...tree.pages, ...tree.assets].sort());
  await expectCountsOfRows(app, first.id);
  site.become(treeSite(2).site);
  const again = await workThrough(app, await queue(app, id));
  const { removed: _, ...changes } = treeChanges();
  expect(again.counts).toMatchObject(changes);
  expect(again.counts.removed).toBe(treeChanges().removed);
  const urls = await urlsOf(app, again.id);
  expect(urls.filter(({ from_cache }) => from_cache)).toHaveLength(changes.unchanged_304);
});

it('goes as deep as configured', async () => {
  site.become(tree.site);
  expect((await crawl(app, site.host, { depth: 2 })).counts.html).toBe(31);
  site.become(chainSite);
  expect((await crawl(app, site.host, { depth: 10 })).counts.html).toBe(11);
  expect((await crawl(app, site.host, { depth: 0 })).counts.html).toBe(1);
  expect((await crawl(app, site.host)).counts.html).toBe(200);
});

it('stops at the number of pages it may capture, with their assets', async () => {
  site.become(tree.site);
  const run = await crawl(app, site.host, { max_html: 100 });
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'max_html' });
  expect(run.counts).toMatchObject({ html: 100, assets: 103 });
});

it('asks no more often than it may', async () => {
  site.become(tree.site);
  const run = await crawl(app, site.host, { max_hits: 50 });
  expect(run).toMatchObject({ status: 'completed', finish_reason: 'max_hits' });
  expect(site.paths()).toHaveLength(50);
  site.become(chainSite);
  expect(await crawl(app, site.host, { max_hits: 200 })).toMatchObject({ finish_reason: 'done' });
  expect(await crawl(app, site.host, { max_hits: 199 })).toMatchObject({ finish_reason: 'max_hits' });
});

it('recognises one address in all its spellings', async () => {
  site.become(cliqueSite);
  const run = await crawl(app, site.host);
  expect(run.counts).toMatchObject({ html: 400, requests: 400 });
});

it('reads sitemaps', async () => {
  site.become(mapsSite);
  const sitemap = (recursive: boolean) => ({ sitemap: [{ url: '/sitemap.xml', recursive }] });
  expect((await crawl(app, site.host, sitemap(true))).counts).toMatchObject({ html: 2801, requests: 2805 });
  expect((await crawl(app, site.host, sitemap(false))).counts).toMatchObject({ html: 1, requests: 2 });
});

it('follows redirects, each hop a request', async () => {
  site.become(hopsSite);
  const run = await crawl(app, site.host);
  expect(run.counts).toMatchObject({ html: 101, redirects: 200, requests: 301 });
});

it('bears as many errors as it may', async () => {
  site.become(faultsSite);
  const run = await crawl(app, site.host, { max_errors: 100 });
  expect(run).toMatchObject({ status: 'completed', counts: { html: 201, errors: 100, retries: 300 } });
  site.become(faultsSite);
  const failed = await crawl(app, site.host, { max_errors: 99 });
  expect(failed).toMatchObject({ status: 'failed', finish_reason: 'max_errors' });
});

it.each(filterCases)('takes what include $include and exclude $exclude leave', async ({ include, exclude, leaves }) => {
  site.become(filtersSite);
  await crawl(app, site.host, { include, exclude });
  expect(site.paths().sort()).toEqual(['/', ...filterPaths.filter(leaves)].sort());
});

it('captures only what is listed, with its assets', async () => {
  site.become(tree.site);
  const run = await crawl(app, site.host, { urls: ['/a0/', '/a1/'] });
  expect(run).toMatchObject({ mode: 'list', counts: { html: 2, assets: 5 } });
});
