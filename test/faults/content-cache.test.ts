import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createContentCache } from '../../src/db/content-cache.ts';
import { openOrm } from '../../src/db/orm.ts';
import { ContentIndex } from '../../src/domain/studio/content/content-index.ts';
import { searchWords } from '../../src/domain/studio/content/search.ts';
import { Activity } from '../../src/lib/timing.ts';
import type { Repository } from '../../src/ports/git.ts';
import { seed, startTestApp, type TestApp } from '../support/app.ts';
import { git as stock } from '../support/git-store.ts';
import { silentLog } from '../support/no-content-cache.ts';
import { createDatabase, empty } from '../support/postgres.ts';
import { demoStudio, restClient } from '../support/rest-client.ts';
import { standStill } from '../support/stand-still.ts';
import { twoServers } from '../support/two-servers.ts';

describe('a database that cannot be used only makes reads of content slower', () => {
  let app: TestApp;
  let git: Repository;
  beforeAll(async () => {
    app = await startTestApp();
    const posts = Array.from({ length: 30 }, (_, at) => [
      `content/posts/${at}.md`,
      `---\ntitle: Post ${at}\n---\n\nBody.\n`,
    ]);
    await seed(app, Object.fromEntries(posts));
    git = await app.repository();
  });
  afterAll(() => app.stop());

  /** An index whose cache is a database at some address. */
  function indexOn(url: string) {
    const orm = openOrm(url, 2);
    onTestFinished(() => orm.close(true));
    const content = new ContentIndex({
      cache: createContentCache(orm, silentLog),
      activity: new Activity(),
      log: silentLog,
    });
    onTestFinished(() => content.close());
    return content;
  }

  async function reads(content: ContentIndex) {
    const head = (await git.head('main')) ?? '';
    const snapshot = await git.snapshot(head);
    const index = (await content.site(git, snapshot)).collection('posts');
    const facts = await content.collectionFacts(git, snapshot, index);
    const found = await content.search(git, index.entries, searchWords('post 7'));
    const last = await content.lastCommits(git, head, ['content/posts/7.md']);
    await content.settled();
    return [
      facts.map(({ title }) => title).sort(),
      [...found].map(({ slug }) => slug),
      [...last.values()].map(({ sha }) => sha),
    ];
  }

  const expected = async () => [
    Array.from({ length: 30 }, (_, at) => `Post ${at}`).sort(),
    ['7'],
    [await git.head('main')],
  ];

  it('when it is not there', async () => {
    const { url, drop } = await createDatabase();
    await drop();
    expect(await reads(indexOn(url))).toEqual(await expected());
  });

  it('when its tables are not there', async () => {
    const { url, drop } = await createDatabase(empty);
    onTestFinished(drop);
    expect(await reads(indexOn(url))).toEqual(await expected());
  });

  it('but not when the whole machine stood still for a while', async () => {
    const cache = createContentCache(app.services.orm, silentLog);
    const requested = cache.stored(git.id);
    standStill(3_000);
    expect(await requested).not.toBeNull();
  });

  it('when it takes connections and says nothing', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const content = indexOn(`postgresql://nobody@127.0.0.1:${port}/nothing`);
    onTestFinished(() => {
      silent.close();
      for (const socket of sockets) socket.destroy();
    });
    expect(await reads(content)).toEqual(await expected());
  });

  it('and is used again when it is back', async () => {
    const content = new ContentIndex({
      cache: createContentCache(app.services.orm, silentLog),
      activity: new Activity(),
      log: silentLog,
    });
    const em = app.services.orm.em.fork();
    const tables = ['studio_blob', 'studio_schema'];
    for (const table of tables) await em.execute(`alter table ${table} rename to ${table}_away`);
    expect(await reads(content)).toEqual(await expected());
    for (const table of tables) await em.execute(`alter table ${table}_away rename to ${table}`);
    await vi.waitFor(
      async () => expect(await createContentCache(app.services.orm, silentLog).stored(git.id)).not.toBeNull(),
      { timeout: 60_000 },
    );
    expect(await reads(content)).toEqual(await expected());
  });
});

describe('what another process does to the content is seen at once', () => {
  it('a save, a commit by stock git, a merge and a deletion at one server, read at the other', async () => {
    const { one, other, owner, gitDir } = await twoServers();
    const writer = restClient(one.url, owner.text);
    const reader = restClient(other.url, owner.text);
    const posts = `${demoStudio}/collections/posts`;
    const found = async (q: string, more = '') =>
      (await reader.get(`${posts}?q=${q}${more}`)).body.map(({ slug }: { slug: string }) => slug);
    const frontmatter = { title: 'Shared', description: 'Seen at once', date: '2026-01-01', author: 'mirabel-osk' };
    expect(await found('quetzal')).toEqual([]);

    const made = await writer.send('POST', posts, { slug: 'en/shared', frontmatter, body: 'A quetzal.\n' });
    expect(made.status).toBe(201);
    expect(await found('quetzal')).toEqual(['en/shared']);
    const updated = async () => (await reader.get(`${posts}?include=updated&q=quetzal`)).body[0]?.updated_at;
    expect(await updated()).toBe(made.body.commit.committer.date);

    const path = made.body.path as string;
    const file = stock(gitDir, ['--git-dir', gitDir, 'cat-file', 'blob', `HEAD:${path}`]).replace('quetzal', 'okapi');
    const index = ['--git-dir', gitDir, '-c', 'core.bare=false'];
    stock(gitDir, [...index, 'read-tree', 'HEAD']);
    const oid = stock(gitDir, ['--git-dir', gitDir, 'hash-object', '-w', '--stdin'], `${file}\n`);
    stock(gitDir, [...index, 'update-index', '--cacheinfo', `100644,${oid},${path}`]);
    const tree = stock(gitDir, [...index, 'write-tree']);
    const pushed = stock(gitDir, ['--git-dir', gitDir, 'commit-tree', tree, '-p', 'HEAD', '-m', 'By git']);
    stock(gitDir, ['--git-dir', gitDir, 'update-ref', 'HEAD', pushed]);
    expect([await found('quetzal'), await found('okapi')]).toEqual([[], ['en/shared']]);

    const branch = { branch: 'topic' };
    expect((await writer.send('POST', `${demoStudio}/branches`, { name: 'topic' })).status).toBe(201);
    expect((await writer.send('PUT', `${posts}/en/shared`, { ...branch, body: 'A numbat.\n' })).status).toBe(200);
    expect([await found('numbat'), await found('numbat', '&branch=topic')]).toEqual([[], ['en/shared']]);
    const merged = await writer.send('POST', `${demoStudio}/merge`, { base: 'main', head: 'topic' });
    expect(merged.status, JSON.stringify(merged.body)).toBeLessThan(300);
    expect([await found('numbat'), await found('okapi')]).toEqual([['en/shared'], []]);

    expect((await writer.send('DELETE', `${posts}/en/shared`, {})).status).toBe(200);
    expect(await found('numbat')).toEqual([]);
  });
});
