import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Crawling } from '../../../../src/domain/crawlers/crawl/crawling.ts';
import { takeUpRuns, workOnRun } from '../../../../src/domain/crawlers/crawl/work-on-run.ts';
import { createOrganization } from '../../../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../../../src/domain/projects/projects.operations.ts';
import { permissionNames } from '../../../../src/kernel/actor.ts';
import type { PageReader } from '../../../../src/ports/page-reader.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { makeCrawler, queue, quick, runOf, workThrough } from '../../../support/crawlers/crawls.ts';
import { links, page, type SiteServer, serveSite } from '../../../support/sites/site-server.ts';

let app: TestApp;
let site: SiteServer;
let release = () => {};

beforeAll(async () => {
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  site = await serveSite(({ path }, response) => {
    if (path === '/') return page('Start', links(['/quick', '/slow']));
    if (path === '/quick') return page('Quick', links(['/next']));
    if (path === '/next') return page('Next', '');
    if (path !== '/slow') return undefined;
    void held.then(() => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>late</p>'));
    return null;
  });
  app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host });
});
afterAll(async () => {
  release();
  await app.stop();
  await site.close();
});

it('asks for what a page leads to as soon as workers have nothing else, however long results may wait', async () => {
  const id = await queue(app, await makeCrawler(app, site.host));
  const working = workOnRun(app.services, id, { ...quick, flush: 600_000, idle: 600_000 });
  await vi.waitFor(() => expect(site.paths()).toContain('/next'), { timeout: 30_000 });
  release();
  await working;
  expect(await runOf(app, id)).toMatchObject({ status: 'completed', counts: { html: 4, requests: 4 } });
});

it('begins no further requests while so much of what came before is still to be read', async () => {
  const parts = Array.from({ length: 40 }, (_, index) => `/heavy-${index}`);
  let served = 0;
  const heavy = await serveSite(({ path }) => {
    if (path === '/') return page('Start', links(parts));
    if (!parts.includes(path)) return undefined;
    served += 1;
    return page(path, 'x'.repeat(100_000));
  });
  onTestFinished(() => heavy.close());
  const app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: heavy.host });
  onTestFinished(() => app.stop());
  const crawling = new Crawling({ runs: 8, requests: 200, documents: 16 });
  app.services.crawlers.crawling = crawling;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  onTestFinished(() => release());
  const { read } = app.services.pages;
  let waiting = 0;
  vi.spyOn(app.services.pages, 'read').mockImplementation(async function (this: PageReader, document, caller) {
    if (document.url.includes('/heavy-')) {
      waiting += 1;
      await released;
    }
    return read.call(app.services.pages, document, caller);
  });
  const id = await queue(app, await makeCrawler(app, heavy.host, { workers: 2 }));
  const working = workOnRun(app.services, id, { ...quick, idle: 50 });
  // Of sixteen places a run has half, and its two workers wait for the next.
  await vi.waitFor(() => expect([waiting, served]).toEqual([8, 10]), { timeout: 30_000 });
  // Its sweeps go on meanwhile.
  await setTimeout(500);
  expect([waiting, served]).toEqual([8, 10]);
  expect(crawling.documents.takeNow({ run_id: 0, organization_id: 2 })).not.toBeNull();
  release();
  await working;
  expect(await runOf(app, id)).toMatchObject({ status: 'completed', counts: { html: 41 } });
});

describe('beside an organisation whose sites take their time', () => {
  const parts = Array.from({ length: 8 }, (_, index) => `/part-${index}`);
  let app: TestApp;
  let slow: SiteServer[];
  let swift: SiteServer;
  let other: { organization: string; token: string };
  /** How many requests wait for their answers. */
  let held = 0;
  let answer = () => {};

  beforeAll(async () => {
    slow = await Promise.all(Array.from({ length: 9 }, () => serveSite(() => undefined)));
    swift = await serveSite(({ path }) => page(path, links(['/', '/next'])));
    app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: [...slow, swift].map(({ host }) => host).join(',') });
    app.services.jobs.send = async () => {};
    app.services.jobs.sendMany = async () => {};
    await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
    await app.run(createProject, { organization: 'other', name: 'Site', machine_name: 'site' });
    other = { organization: 'other', token: await app.makeToken(permissionNames, { organization: 'other' }) };
  });
  beforeEach(() => {
    held = 0;
    const answers = new Promise<void>((resolve) => {
      answer = resolve;
    });
    for (const site of slow)
      site.become(({ path }, response) => {
        if (path === '/') return page('Start', links(parts));
        if (!parts.includes(path)) return undefined;
        held += 1;
        void answers.then(() => response.writeHead(200, { 'Content-Type': 'text/html' }).end(path));
        return null;
      });
  });
  afterEach(() => answer());
  afterAll(async () => {
    await app?.stop();
    await Promise.all([...(slow ?? []), swift].map((site) => site?.close()));
  });

  /** Looks for runs, as a process does every few seconds, until these have ended. */
  const completed = (ids: readonly number[]) =>
    vi.waitFor(
      async () => {
        await takeUpRuns(app.services);
        for (const id of ids) expect((await runOf(app, id)).status).toBe('completed');
      },
      { timeout: 60_000, interval: 100 },
    );

  it('begins runs of others, though more of the organisation wait for longer than there are places', async () => {
    const crawling = new Crawling({ runs: 8, requests: 200, documents: 40 });
    app.services.crawlers.crawling = crawling;
    const ids: number[] = [];
    for (const { host } of slow) ids.push(await queue(app, await makeCrawler(app, host, { workers: 2 })));
    await takeUpRuns(app.services);
    await vi.waitFor(() => expect([crawling.active, held]).toEqual([6, 12]), { timeout: 30_000 });
    const quick = await Promise.all(
      [1, 2, 3].map(async () => queue(app, await makeCrawler(app, swift.host, {}, other))),
    );
    await completed(quick);
    expect([crawling.active, held]).toEqual([6, 12]);
    answer();
    await completed(ids);
    expect(crawling.organizations).toEqual([]);
  });

  it('sends requests of others, though more of the organisation wait than may be under way', async () => {
    const crawling = new Crawling({ runs: 100, requests: 8, documents: 40 });
    app.services.crawlers.crawling = crawling;
    const working: Promise<unknown>[] = [];
    // One of them misses its slots of the host while it waits.
    for (const [index, { host }] of slow.slice(0, 2).entries())
      working.push(workThrough(app, await queue(app, await makeCrawler(app, host, { delay: index / 20 }))));
    await vi.waitFor(() => expect([held, crawling.requests.waiting()]).toEqual([5, 2]), { timeout: 30_000 });
    const run = await workThrough(app, await queue(app, await makeCrawler(app, swift.host, {}, other)));
    expect(run).toMatchObject({ status: 'completed', counts: { html: 2 } });
    expect([held, crawling.requests.waiting()]).toEqual([5, 2]);
    answer();
    for (const ended of await Promise.all(working))
      expect(ended).toMatchObject({ status: 'completed', counts: { html: 9, requests: 9, errors: 0 } });
    expect(crawling.requests.isIdle).toBe(true);
  });
});
