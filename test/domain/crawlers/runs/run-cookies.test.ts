import { beforeAll, expect, it } from 'vitest';
import { CookieJar, keepCookies } from '../../../../src/domain/crawlers/crawl/fetch/cookies.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { makeCrawler, queue, workThrough } from '../../../support/crawlers/crawls.ts';
import { links, page, serveSite } from '../../../support/sites/site-server.ts';

const site = shared(() =>
  serveSite(({ path, headers }) => {
    const start = page('Start', links(['/members']));
    if (path === '/') return { ...start, headers: { ...start.headers, 'Set-Cookie': 'session=opensesame' } };
    return path === '/members' && headers.cookie === 'session=opensesame' ? page('Members', '') : { status: 403 };
  }),
);
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));
let organization: number;
const url = new URL('http://docs.test/a/b');
const now = new Date('2026-03-01T08:00:00Z');

beforeAll(async () => {
  const [row] = await rows<{ id: number }>(`select id from organization where machine_name = 'acme'`);
  organization = row?.id ?? 0;
});

const rows = <T>(sql: string, values: unknown[] = []): Promise<T[]> =>
  app.services.orm.em.fork().execute(sql, values as never);
const stored = async (id: number) =>
  (await rows<{ cookies: string | null }>('select cookies from crawler_run where id = ?', [id]))[0]?.cookies;

it('a process that takes a run over has its cookies, and the database has them only encrypted', async () => {
  const id = await queue(app, await makeCrawler(app, site.host));
  const begin = (jar: CookieJar, epoch = 0) => keepCookies(app.services, { id, epoch }, organization, jar);
  const first = new CookieJar();
  const end = await begin(first);
  first.store(url, ['session=opensesame; Path=/', 'seen=1; Max-Age=60', 'gone=1; Max-Age=0'], now);
  await end();
  expect(await stored(id)).not.toContain('opensesame');

  const second = new CookieJar();
  await (await begin(second))();
  expect(second.header(url, now)).toBe('seen=1; session=opensesame');
  expect(second.header(url, new Date(now.getTime() + 61_000))).toBe('session=opensesame');
  expect(second.header(new URL('http://else.test/a/b'), now)).toBeNull();

  // One that was taken over saves nothing more.
  const before = await stored(id);
  const late = await begin(first, -1);
  first.store(url, ['session=late; Path=/'], now);
  await late();
  expect(await stored(id)).toBe(before);
});

it('cookies go with the end of their run', async () => {
  const id = await queue(app, await makeCrawler(app, site.host, { workers: 1 }));
  expect(await workThrough(app, id)).toMatchObject({ status: 'completed', counts: { html: 2, errors: 0 } });
  expect(await stored(id)).toBeNull();
});
