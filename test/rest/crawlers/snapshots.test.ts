import { createHash } from 'node:crypto';
import { EntityManager } from '@mikro-orm/postgresql';
import { describe, expect, it, vi } from 'vitest';
import { WARCParser } from 'warcio';
import { urlHash } from '../../../src/domain/crawlers/frontier/url-draft.ts';
import { answerMemory } from '../../../src/kernel/answer-memory.ts';
import { DomainError } from '../../../src/kernel/errors.ts';
import { shared, startTestApp } from '../../support/app.ts';
import { crawl, endRun, makeCrawler, makeSnapshot, origin, type Page } from '../../support/crawlers/snapshots.ts';

const crawlers = '/api/v2/organizations/acme/projects/site/crawlers';
const app = shared(startTestApp);

const get = (path: string) => app.ask('GET', `${crawlers}/${path}`);

/** Three pages, published; then a second copy with one changed, one added and one removed. */
async function twoCopies() {
  const crawler = await makeCrawler(app);
  const first = await makeSnapshot(app, crawler.id, {
    '/': 'home',
    '/a': 'a',
    '/b': 'b',
    '/old': { redirect: `${origin}/a` },
  });
  const second = await makeSnapshot(
    app,
    crawler.id,
    { '/': 'home', '/a': 'a, changed', '/c': 'c', '/old': { redirect: `${origin}/c` } },
    { settings: { publish: { auto: true, max_lost_percent: 20, max_error_percent: 10 } } },
  );
  return { crawler, at: `${crawler.uuid}/snapshots`, first: first?.id ?? 0, second: second?.id ?? 0 };
}

describe('lists', () => {
  it('snapshots come newest first, one with addresses that open it', async () => {
    const { crawler, at, first, second } = await twoCopies();
    const { status, body, headers } = await get(at);
    expect(status).toBe(200);
    expect(headers.get('x-total-count')).toBe('2');
    expect(body).toMatchObject([
      {
        id: second,
        crawler_id: crawler.id,
        state: 'ready',
        published: true,
        base_id: first,
        pages: 3,
        pinned: false,
        note: null,
      },
      { id: first, published: false, base_id: null },
    ]);
    expect(body[0]).not.toHaveProperty('preview');
    const shown = (await get(`${at}/${second}`)).body;
    expect(shown.preview.url).toMatch(new RegExp(`^http://s--${second}\\.[^/]*/\\?portico_preview=`));
    expect(shown.live_preview.url).toMatch(new RegExp(`^http://c--${crawler.id}\\.`));
    expect((await get(`${at}/${first}`)).body.live_preview).toBe(null);
  });

  it('entries come by URL, of a kind or with a part of it', async () => {
    const { at, second } = await twoCopies();
    const { body, headers } = await get(`${at}/${second}/entries?per_page=2`);
    expect(headers.get('x-total-count')).toBe('4');
    expect(body.map(({ url }: { url: string }) => url)).toEqual([`${origin}/`, `${origin}/a`]);
    expect(body[1]).toMatchObject({
      kind: 'page',
      http_status: 200,
      bytes: 10,
      redirect_to: null,
      fetched_at: '2026-03-01T08:00:00.123Z',
    });
    const found = (await get(`${at}/${second}/entries?q=OLD`)).body;
    expect((await get(`${at}/${second}/entries?q=%25`)).body).toEqual([]);
    expect((await get(`${at}/${second}/entries?q=%00`)).status).toBe(400);
    expect(found).toMatchObject([{ url: `${origin}/old`, sha256: null, redirect_to: `${origin}/c` }]);
    expect((await get(`${at}/${second}/entries?kind=asset`)).body).toEqual([]);
    expect((await get(`${at}/${second}/entries?kind=x`)).status).toBe(400);
  });

  it('differences come by URL, against the live copy or another', async () => {
    const { at, first, second } = await twoCopies();
    const { body, headers } = await get(`${at}/${second}/diff`);
    expect(headers.get('x-total-count')).toBe('4');
    const short = (each: { url: string; change: string }) => [new URL(each.url).pathname, each.change];
    expect(body.map(short)).toEqual([
      ['/a', 'changed'],
      ['/b', 'removed'],
      ['/c', 'added'],
      ['/old', 'changed'],
    ]);
    expect(body[1]).toMatchObject({ base: { http_status: 200, bytes: 1 }, head: null });
    const back = (await get(`${at}/${first}/diff`)).body;
    expect(back.map(short)).toEqual([
      ['/a', 'changed'],
      ['/b', 'added'],
      ['/c', 'removed'],
      ['/old', 'changed'],
    ]);
    expect((await get(`${at}/${first}/diff?base=${first}`)).body).toEqual([]);
    expect((await get(`${at}/${second}/diff?page=2&per_page=3`)).body.map(short)).toEqual([['/old', 'changed']]);
    expect((await get(`${at}/${second}/diff?base=999999`)).body.message).toBe('Snapshot not found');
  });

  it('with what is gone nothing is compared', async () => {
    const { at, first, second } = await twoCopies();
    const expire = `update snapshot set state = 'expired' where id = ?`;
    await app.services.orm.em.fork().execute(expire, [first]);
    for (const path of [`${first}/diff`, `${second}/diff?base=${first}`]) {
      const { status, body } = await get(`${at}/${path}`);
      expect([status, body.message]).toEqual([409, `Snapshot ${first} has expired: its files are gone`]);
    }
    const { body } = await get(`${at}/${second}/diff`);
    expect(body.map(({ change }: { change: string }) => change)).toEqual(['added', 'added', 'added', 'added']);
  });

  it('what does not exist, or is of another crawler, is not found', async () => {
    const { first } = await twoCopies();
    const other = await makeCrawler(app);
    for (const path of [`${first}`, `${first}/entries`, `${first}/diff`, `${first}/warc`, '999999', '0', 'x'])
      expect((await get(`${other.id}/snapshots/${path}`)).status).toBe(404);
    expect((await get(`${other.id}/snapshots/${first}`)).body.message).toBe('Snapshot not found');
    for (const path of ['abc', '999999/entries?kind=none'])
      expect((await get(`${other.id}/snapshots/${path}`)).body.message).toBe('Snapshot not found');
  });
});

describe('publishing', () => {
  it('an older copy by hand is going back', async () => {
    const { at, first, second } = await twoCopies();
    expect((await app.ask('POST', `${crawlers}/${at}/${first}/publish`)).body).toMatchObject({
      id: first,
      published: true,
    });
    expect((await get(`${at}/${second}`)).body.published).toBe(false);
  });

  it('sends one notification, and none for what is live already', async () => {
    const crawler = await makeCrawler(app, { webhook_url: 'https://hooks.example.com/' });
    const publish = { auto: false, max_lost_percent: 10, max_error_percent: 10 };
    const ready = await makeSnapshot(app, crawler.id, { '/': 'home' }, { settings: { publish } });
    const path = `${crawlers}/${crawler.id}/snapshots/${ready?.id}/publish`;
    for (let time = 0; time < 2; time += 1) expect((await app.ask('POST', path)).body.published).toBe(true);
    const rows = await app.services.orm.em
      .fork()
      .execute<{ type: string; payload: string }[]>('select type, payload from notification where crawler_id = ?', [
        crawler.id,
      ]);
    expect(rows.map(({ type }) => type)).toEqual(['crawler.snapshot.published']);
    const { snapshot } = JSON.parse(rows[0]?.payload ?? '').data;
    expect(snapshot).toMatchObject({ id: ready?.id, published: true });
    expect(snapshot.checks.map(({ passed }: { passed: boolean }) => passed)).toEqual([true, true, true]);
  });

  it('a held copy needs force, and force a permission of its own', async () => {
    const crawler = await makeCrawler(app);
    const held = await makeSnapshot(app, crawler.id, { '/a': 'no home' });
    const path = `${crawlers}/${crawler.id}/snapshots/${held?.id}/publish`;
    expect((await app.ask('POST', path)).body).toMatchObject({
      code: 'protected',
      message: expect.stringContaining(`${origin}/ was not captured`),
    });
    const editor = await app.makeToken(['browse_crawlers', 'edit_crawlers']);
    expect((await app.ask('POST', path, { token: editor, body: { force: true } })).status).toBe(403);
    expect((await app.ask('POST', path, { body: { force: true } })).body).toMatchObject({
      published: true,
      state: 'held',
    });
    const { body } = await app.ask('GET', '/api/v2/organizations/acme/audit?action=crawlers.publishSnapshot');
    expect(body[0]).toMatchObject({ action: 'crawlers.publishSnapshot', changes: { force: true }, outcome: 'ok' });
  });

  it('one that is being captured cannot be published or deleted', async () => {
    const crawler = await makeCrawler(app);
    const { snapshot_id } = await crawl(app, crawler.id, { '/': 'home' });
    const path = `${crawlers}/${crawler.id}/snapshots/${snapshot_id}`;
    expect((await app.ask('POST', `${path}/publish`, { body: { force: true } })).body.code).toBe('busy');
    expect((await app.ask('DELETE', path)).body.code).toBe('busy');
    expect((await app.ask('GET', `${path}/warc`)).status).toBe(409);
    expect((await app.ask('GET', path)).body).toMatchObject({ state: 'building', preview: null });
  });
});

describe('keeping', () => {
  it('a snapshot is pinned and noted; live and pinned ones are not deleted', async () => {
    const { at, first, second } = await twoCopies();
    const patch = (body: object) => app.ask('PATCH', `${crawlers}/${at}/${first}`, { body });
    expect((await patch({ pinned: true, note: ' before the move ' })).body).toMatchObject({
      pinned: true,
      note: 'before the move',
    });
    expect((await patch({ note: 'x'.repeat(2001) })).status).toBe(400);
    expect((await patch({ pinned: 'yes' })).body.message).toBe('pinned: must be a boolean');
    expect((await app.ask('DELETE', `${crawlers}/${at}/${first}`)).body.code).toBe('protected');
    expect((await app.ask('DELETE', `${crawlers}/${at}/${second}`)).body.code).toBe('in_use');
    expect((await patch({ pinned: false, note: null })).body).toMatchObject({ pinned: false, note: null });
    expect((await app.ask('DELETE', `${crawlers}/${at}/${first}`)).status).toBe(204);
    expect((await get(`${at}/${first}`)).status).toBe(404);
    expect((await get(at)).body.length).toBe(1);
  });

  it.each([
    ['GET', '', 'browse_crawlers'],
    ['GET', '/entries', 'browse_crawlers'],
    ['GET', '/diff', 'browse_crawlers'],
    ['GET', '/warc', 'browse_crawlers'],
    ['POST', '/publish', 'edit_crawlers'],
    ['PATCH', '', 'edit_crawlers'],
    ['DELETE', '', 'delete_crawlers'],
  ] as const)('%s …%s needs %s', async (method, rest, permission) => {
    const { at, first } = await twoCopies();
    const body = method === 'PATCH' ? { pinned: false } : undefined;
    const ask = async (token: string) =>
      (await app.ask(method, `${crawlers}/${at}/${first}${rest}`, { token, body })).status;
    const others = (['browse_crawlers', 'edit_crawlers', 'delete_crawlers', 'manage_crawlers'] as const).filter(
      (each) => each !== permission,
    );
    expect(await ask(await app.makeToken(others))).toBe(403);
    expect(await ask(await app.makeToken([permission]))).toBeLessThan(300);
  });
});

describe('broken links', () => {
  it('are listed with the pages that link there, also over redirects', async () => {
    const crawler = await makeCrawler(app);
    const run = await crawl(
      app,
      crawler.id,
      { '/': 'home', '/a': 'a', '/moved': { redirect: `${origin}/gone` } },
      { failed: { '/gone': 404, '/slow': 'timeout', '/alone': 500 } },
    );
    await endRun(app, run);
    const em = app.services.orm.em.fork();
    const id = async (path: string) =>
      (
        await em.execute<{ id: string }[]>('select id from crawl_url where run_id = ? and url = ?', [
          run.id,
          origin + path,
        ])
      )[0]?.id ?? '';
    const links = async (from: string, to: string[]) =>
      em.execute(`insert into crawl_link (run_id, from_id, to_keys) values (?, ?, string_to_array(?, ' ')::bigint[])`, [
        run.id,
        await id(from),
        to.map((path) => urlHash(origin + path).readBigInt64BE()).join(' '),
      ]);
    await em.execute(`update crawl_url set redirect_to = ? where id = ?`, [`${origin}/gone`, await id('/moved')]);
    await links('/', ['/a', '/moved', '/slow']);
    await links('/a', ['/gone', '/moved', '/']);
    const { body, headers } = await get(`${crawler.id}/runs/${run.id}/broken-links`);
    expect(headers.get('x-total-count')).toBe('3');
    expect(body).toEqual([
      {
        url: `${origin}/gone`,
        kind: 'page',
        http_status: 404,
        error: null,
        error_message: null,
        link_count: 2,
        linked_from: [
          { url: `${origin}/`, via: `${origin}/moved` },
          { url: `${origin}/a`, via: `${origin}/gone` },
        ],
      },
      {
        url: `${origin}/slow`,
        kind: 'page',
        http_status: null,
        error: 'timeout',
        error_message: null,
        link_count: 1,
        linked_from: [{ url: `${origin}/`, via: `${origin}/slow` }],
      },
      {
        url: `${origin}/alone`,
        kind: 'page',
        http_status: 500,
        error: null,
        error_message: null,
        link_count: 0,
        linked_from: [],
      },
    ]);
    expect((await get(`${crawler.id}/runs/999999/broken-links`)).body.message).toBe('Run not found');
  });
});

describe('WARC', () => {
  it('is read back by another reader, every record whole', async () => {
    const crawler = await makeCrawler(app);
    const large = Buffer.alloc(700_000, 'abc\r\n\r\nWARC/1.1\r\n');
    const text = Buffer.from([0xff, 0x00, 0x0d, 0x0a]);
    const snapshot = await makeSnapshot(app, crawler.id, {
      '/': { body: 'home', headers: { 'Content-Encoding': 'gzip', 'X-Powered-By': 'x', 'Content-Type': 'text/html' } },
      '/large': { body: large, type: 'application/octet-stream' },
      '/bytes': { body: text, type: null },
      '/old': { redirect: `${origin}/` },
      '/empty': '',
    });
    const url = `${app.url}${crawlers}/${crawler.id}/snapshots/${snapshot?.id}/warc`;
    const response = await fetch(url, { headers: { Authorization: `Bearer ${app.token}` } });
    expect(response.headers.get('content-type')).toBe('application/warc');
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="www.example.com-snapshot-${snapshot?.id}.warc.gz"`,
    );
    const file = Buffer.from(await response.arrayBuffer());
    const found: Record<
      string,
      { status: string | number | undefined; headers: Record<string, string>; body: Buffer }
    > = {};
    let info = '';
    let count = 0;
    const parser = new WARCParser(new Response(file).body ?? [], { keepHeadersCase: false });
    for await (const record of parser) {
      count += 1;
      expect(record.warcHeaders.protocol).toBe('WARC/1.1');
      if (record.warcType === 'warcinfo') {
        info = await record.contentText();
        continue;
      }
      const body = Buffer.from(await record.readFully(false));
      found[new URL(record.warcTargetURI ?? '').pathname] = {
        status: record.httpHeaders?.statusCode,
        headers: Object.fromEntries(record.httpHeaders?.headers ?? []),
        body,
      };
      expect(record.warcDate).toBe('2026-03-01T08:00:00.123Z');
      const digest = record.warcHeader('WARC-Payload-Digest');
      if (digest) expect(digest).toBe(`sha256:${createHash('sha256').update(body).digest('hex')}`);
    }
    expect(count).toBe(6);
    expect(info).toContain('format: WARC File Format 1.1');
    expect(found['/']?.body.toString()).toBe('home');
    expect(found['/']?.headers).toEqual({ 'x-powered-by': 'x', 'content-type': 'text/html', 'content-length': '4' });
    expect(found['/large']?.body.equals(large)).toBe(true);
    expect(found['/bytes']?.body.equals(text)).toBe(true);
    expect(found['/old']).toMatchObject({ status: 301, headers: { location: `${origin}/`, 'content-length': '0' } });
    expect(found['/empty']?.body.length).toBe(0);
    const again = await fetch(url, { headers: { Authorization: `Bearer ${app.token}` } });
    expect(Buffer.from(await again.arrayBuffer()).equals(file)).toBe(true);
    const head = await fetch(url, { method: 'HEAD', headers: { Authorization: `Bearer ${app.token}` } });
    expect([head.status, (await head.arrayBuffer()).byteLength]).toEqual([200, 0]);
  });

  /** A snapshot that may be deleted, and where its export is. */
  async function ofPages(count: number, page: Page) {
    const crawler = await makeCrawler(app);
    const pages = Object.fromEntries(Array.from({ length: count }, (_, at) => [`/${at}`, page]));
    const publish = { auto: false, max_lost_percent: 10, max_error_percent: 10 };
    const made = await makeSnapshot(app, crawler.id, pages, { settings: { publish } });
    return `${crawlers}/${crawler.uuid}/snapshots/${made?.id}`;
  }

  const exported = (path: string, method = 'GET') =>
    fetch(`${app.url}${path}/warc`, { method, headers: { Authorization: `Bearer ${app.token}` } });

  it('reads at most 1 MiB of headers ahead of its reader', async () => {
    const headers = { 'content-security-policy': 'x'.repeat(60_000) };
    const path = await ofPages(40, { redirect: `${origin}/`, headers });
    const executed = vi.spyOn(EntityManager.prototype, 'execute');
    expect((await (await exported(path)).arrayBuffer()).byteLength).toBeGreaterThan(0);
    const rows = await Promise.all(
      executed.mock.calls.flatMap(([sql], at) =>
        String(sql).includes('from snapshot_entry') ? [executed.mock.results[at]?.value as Promise<object[]>] : [],
      ),
    );
    executed.mockRestore();
    expect(rows.flat()).toHaveLength(40);
    for (const batch of rows) expect(JSON.stringify(batch).length).toBeLessThan(1024 * 1024);
  });

  it('takes room for as long as it is read, and none for its head', async () => {
    const path = await ofPages(1, 'x');
    const taken = vi.spyOn(answerMemory, 'take');
    await (await exported(path, 'HEAD')).arrayBuffer();
    expect(taken).not.toHaveBeenCalled();
    await (await exported(path)).arrayBuffer();
    expect(taken.mock.calls.map(([, bytes]) => bytes)).toEqual([2 * 1024 * 1024]);
    taken.mockRejectedValueOnce(new DomainError('unavailable', 'Too much is being sent'));
    const refused = await exported(path);
    expect([refused.status, refused.headers.get('content-type')]).toEqual([503, expect.stringMatching(/json/)]);
    taken.mockRestore();
  });

  it('is cut off when its snapshot is deleted meanwhile', async () => {
    const path = await ofPages(600, 'x');
    vi.spyOn(app.services.blobs, 'read').mockImplementationOnce(async function* () {
      expect((await app.ask('DELETE', path)).status).toBe(204);
      yield Buffer.from('x');
    });
    const response = await exported(path);
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer().then(() => 'complete')).rejects.toThrow();
  });

  it('is cut off when a content is gone, so that no client takes it for complete', async () => {
    const crawler = await makeCrawler(app);
    const snapshot = await makeSnapshot(app, crawler.id, { '/': 'this will be gone' });
    await app.services.orm.em
      .fork()
      .execute(`update snapshot_entry set sha256 = repeat('0', 64) where snapshot_id = ?`, [snapshot?.id]);
    const response = await fetch(`${app.url}${crawlers}/${crawler.id}/snapshots/${snapshot?.id}/warc`, {
      headers: { Authorization: `Bearer ${app.token}` },
    });
    await expect(response.arrayBuffer()).rejects.toThrow();
  });
});
