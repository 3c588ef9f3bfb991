import { expect, it } from 'vitest';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawlersPath, makeCrawler, queue, workThrough } from '../../../support/crawlers/crawls.ts';
import { links, page, type Site, serveSite } from '../../../support/sites/site-server.ts';

const site = shared(() => serveSite(() => undefined));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));

const webhook_url = 'https://hooks.example.com/';

/** A start page with links to so many others. */
const pages =
  (count: number): Site =>
  ({ path }) => {
    if (path === '/') return page('home', links(Array.from({ length: count }, (_, at) => `/${at}/`)));
    return Number.parseInt(path.slice(1), 10) < count ? page(path) : undefined;
  };

/** The events for a crawler's webhook, the first first. */
async function events(crawler_id: number): Promise<{ type: string; data: Record<string, unknown> }[]> {
  const rows = await app.services.orm.em
    .fork()
    .execute<{ type: string; payload: string }[]>(
      'select type, payload from notification where crawler_id = ? order by created_at, id',
      [crawler_id],
    );
  return rows.map(({ type, payload }) => ({ type, data: JSON.parse(payload).data }));
}

it('notifies once that a run begins, that it ends, and what became of its snapshot, with its counts and checks', async () => {
  site.become(pages(20));
  const crawler = await makeCrawler(app, site.host, { webhook_url });
  const first = await workThrough(app, await queue(app, crawler));
  const sent = await events(crawler);
  expect(sent.map(({ type }) => type).sort()).toEqual([
    'crawler.run.completed',
    'crawler.run.started',
    'crawler.snapshot.published',
  ]);
  for (const { type, data } of sent.filter(({ type }) => type !== 'crawler.run.started'))
    expect({ type, data }).toMatchObject({
      data: {
        run: { id: first.id, status: 'completed', reason: 'done' },
        counts: { html: 21 },
        snapshot: { id: first.snapshot_id, state: 'ready', published: true },
        first_errors: [],
      },
    });

  site.become(pages(10));
  await workThrough(app, await queue(app, crawler));
  const later = (await events(crawler)).filter(({ type }) => type === 'crawler.snapshot.held');
  expect(later).toMatchObject([
    {
      data: {
        run: { status: 'completed' },
        snapshot: {
          state: 'held',
          published: false,
          checks: expect.arrayContaining([
            { name: 'lost_pages', passed: false, found: 10, limit: 3, detail: expect.any(String) },
          ]),
        },
      },
    },
  ]);
  expect(await events(crawler)).toHaveLength(6);
});

it('notifies once of a run that fails, and of one that is canceled before it began', async () => {
  site.become(() => ({ status: 500 }));
  const crawler = await makeCrawler(app, site.host, { webhook_url, ignore_robots: true });
  await workThrough(app, await queue(app, crawler));
  expect((await events(crawler)).map(({ type }) => type)).toEqual(['crawler.run.started', 'crawler.run.failed']);

  const waiting = await queue(app, crawler);
  for (let time = 0; time < 2; time += 1)
    await app.ask('POST', `${crawlersPath}/${crawler}/runs/${waiting}/cancel`, { body: {} });
  expect((await events(crawler)).map(({ type }) => type).slice(2)).toEqual(['crawler.run.canceled']);
});
