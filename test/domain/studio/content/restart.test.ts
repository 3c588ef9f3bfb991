import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { createContentCache } from '../../../../src/db/content-cache.ts';
import { deleteProject } from '../../../../src/domain/projects/projects.operations.ts';
import { ContentIndex } from '../../../../src/domain/studio/content/content-index.ts';
import { factsOf, readerVersion } from '../../../../src/domain/studio/content/entry-facts.ts';
import { searchWords, wordsOf } from '../../../../src/domain/studio/content/search.ts';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { runRetention } from '../../../../src/jobs/upkeep.ts';
import { Activity } from '../../../../src/lib/timing.ts';
import { seed, shared, startTestApp } from '../../../support/app.ts';
import { silentLog } from '../../../support/no-content-cache.ts';
import { collectionAt, counted, newIndex, uncachedIndex } from './reading.ts';

const hostile: Record<string, string | Buffer> = {
  'nul.json': '{"title": "a\\u0000b", "text": "\\u0000"}',
  'lone.json': '{"title": "half \\ud800", "tail": "\\udc00 end", "\\ud83d": 1}',
  'keys.json': '{"z": 1, "a": 2, "10": 3, "2": 4, "__proto__": {"x": 1}, "constructor": "c", "title": "K"}',
  'numbers.json': '{"big": 12345678901234567890, "small": 1e-320, "title": "N"}',
  'nul.md': '---\ntitle: "a\\0b"\n---\n\n# Heading\n',
  'heading.md': 'No block.\n\n# A \u0000 heading\n',
  'broken.md': '---\ntitle: [\n---\n',
  'latin.md': Buffer.from('---\ntitle: caf\xe9\n---\n', 'latin1'),
  'empty.md': '',
  'script.md': '---\ntitle: 日本語\n---\n\nStraße ΟΔΟΣ\n',
  'quotes.md': `---\ntitle: "it's \\"so\\" \\\\ 'it"\n---\n\n' & | ! :* \\ "\n`,
  'toml.md': '+++\ntitle = "T"\nat = 2024-01-01T00:00:00Z\ninf = inf\n+++\n',
  // The same bytes as another kind of file.
  'same.md': '{"title": "Same"}',
  'same.json': '{"title": "Same"}',
};
const files = Object.fromEntries(
  Object.entries(hostile).map(([name, text]) => [`content/${name.replace(/.*\./, '')}/${name}`, text]),
);
const posts = Object.fromEntries(
  Array.from({ length: 40 }, (_, at) => [
    `content/posts/${at}.md`,
    `---\ntitle: Post ${at}\n---\n\nBody ${at} zebra.\n`,
  ]),
);

const app = shared(startTestApp);
beforeAll(async () => {
  await seed(app, { ...files, ...posts });
  const content = newIndex(app);
  await content.site(await app.repository(), await snapshotOf());
  await content.settled();
});

const snapshotOf = async () => {
  const git = await app.repository();
  return git.snapshot(await git.head('main'));
};

describe('after a restart', () => {
  it.each(['md', 'json', 'posts'])(
    'facts of %s are those of the files, to the order of keys, and no file is read',
    async (name) => {
      const { git, count } = counted(await app.repository());
      const content = newIndex(app);
      const { snapshot, index } = await collectionAt(content, git, name);
      count.blobs = 0;
      const facts = await content.collectionFacts(git, snapshot, index);
      expect(count.blobs).toBe(0);
      const plain = uncachedIndex();
      const there = await collectionAt(plain, git, name);
      const fresh = await plain.collectionFacts(git, there.snapshot, there.index);
      expect(fresh).toHaveLength(index.entries.length);
      expect(facts.map((fact) => JSON.stringify(fact))).toEqual(fresh.map((fact) => JSON.stringify(fact)));
      expect(facts).toEqual(fresh);
    },
  );

  it('a search reads no file', async () => {
    const { git, count } = counted(await app.repository());
    const content = newIndex(app);
    const { index } = await collectionAt(content, git, 'posts');
    count.blobs = 0;
    const found = await content.search(git, index.entries, searchWords('7 zeb'));
    expect([...found].map(({ slug }) => slug)).toEqual(['7']);
    expect(count.blobs).toBe(0);
  });

  it('only new files are read', async () => {
    await seed(app, { 'content/posts/40.md': '---\ntitle: Post 40\n---\n\nFresh zebra.\n' });
    await app.services.studio.moves.settled();
    await app.services.studio.content.settled();
    await seed(app, { 'content/posts/41.md': 'By stock git: zebra.\n' }, 'site');
    const { git, count } = counted(await app.repository());
    const content = newIndex(app);
    const { snapshot, index } = await collectionAt(content, git, 'posts');
    count.read.clear();
    expect(await content.search(git, index.entries, searchWords('zebra'))).toHaveLength(42);
    // The newest file is read once to be searched, and once more to be stored.
    expect(count.read.size).toBeLessThanOrEqual(1);
    await content.settled();
    count.blobs = 0;
    const again = newIndex(app);
    await again.site(git, snapshot);
    await again.facts(git, snapshot, index.entries);
    expect(count.blobs).toBe(0);
  });
});

describe('facts of a collection beyond what memory keeps', () => {
  beforeAll(async () => {
    // Rows of 30,000 characters, whose facts take 800,000 bytes: all of them more than there is memory for.
    const list = Array.from({ length: 10_000 }, () => []);
    const wide = Array.from({ length: 120 }, (_, at) => [
      `content/wide/${at}.json`,
      JSON.stringify({ title: `Wide ${at}`, list }),
    ]);
    await seed(app, Object.fromEntries(wide));
    const content = newIndex(app);
    await content.site(await app.repository(), await snapshotOf());
    await content.settled();
  });

  it.each(['collectionFacts', 'eachListed', 'eachFacts'] as const)(
    'are read from their rows by %s, each once, and no file is read',
    async (name) => {
      const rows: string[] = [];
      const cache = createContentCache(app.services.orm, silentLog);
      const facts: typeof cache.facts = (repository, blobs) => {
        rows.push(...blobs.map(({ oid }) => oid));
        return cache.facts(repository, blobs);
      };
      const content = new ContentIndex({ cache: { ...cache, facts }, activity: new Activity(), log: silentLog });
      const { git, count } = counted(await app.repository());
      const { snapshot, index } = await collectionAt(content, git, 'wide');
      rows.length = 0;
      count.blobs = 0;
      const titles: string[] = [];
      const all =
        name === 'collectionFacts'
          ? await content.collectionFacts(git, snapshot, index)
          : content[name](git, snapshot, index.entries);
      for await (const { title } of all) titles.push(title);
      expect(titles).toEqual(index.entries.map(({ slug }) => `Wide ${slug}`));
      expect(count.blobs).toBe(0);
      expect(rows.sort()).toEqual(index.entries.map(({ oid }) => oid).sort());
    },
  );
});

it('long facts are not stored: their file is found by its words, and read again', async () => {
  const long = { 'content/long/a.md': `---\ntitle: Long\ntext: ${'quagga '.repeat(6_000)}\n---\n` };
  const fits = { 'content/long/b.md': `---\ntitle: Fits\ntext: ${'quagga '.repeat(4_000)}\n---\n` };
  await seed(app, { ...long, ...fits });
  const { git, count } = counted(await app.repository());
  const before = newIndex(app);
  await before.site(git, await snapshotOf());
  await before.settled();
  const rows = (await app.services.orm.em
    .fork()
    .execute('select max(length(facts::text))::int as longest from studio_blob')) as { longest: number }[];
  expect(rows[0]?.longest).toBeLessThan(32 * 1024);
  const content = newIndex(app);
  const { snapshot, index } = await collectionAt(content, git, 'long');
  count.read.clear();
  expect(await content.search(git, index.entries, searchWords('quagga'))).toHaveLength(2);
  expect(count.read.size).toBe(0);
  const others = (await collectionAt(content, git, 'posts')).index.entries;
  const facts = await content.listedFacts(git, snapshot, [...index.entries, ...others]);
  expect(facts.slice(0, 2).map(({ title }) => title)).toEqual(['Long', 'Fits']);
  expect([...count.read]).toEqual([index.find('a')?.oid]);
});

it('the same file is stored once, however many processes store it', async () => {
  const indexes = [newIndex(app), newIndex(app), newIndex(app)];
  const git = await app.repository();
  await seed(app, { 'content/posts/race.md': 'Race zebra.\n' });
  await Promise.all(
    indexes.map(async (content) => {
      await content.site(git, await snapshotOf());
      await content.settled();
    }),
  );
  for (const content of indexes) {
    const { index } = await collectionAt(content, git, 'posts');
    expect([...(await content.search(git, index.entries, searchWords('race')))].map(({ slug }) => slug)).toEqual([
      'race',
    ]);
  }
});

it('a table that was emptied by hand is filled again', async () => {
  const em = app.services.orm.em.fork();
  await em.execute('truncate studio_blob');
  const git = await app.repository();
  const content = newIndex(app);
  const { index } = await collectionAt(content, git, 'posts');
  expect((await content.search(git, index.entries, searchWords('zebra'))).size).toBe(index.entries.length);
  await content.settled();
  const [{ rows }] = (await em.execute('select count(*)::int as rows from studio_blob')) as [{ rows: number }];
  expect(rows).toBeGreaterThanOrEqual(index.entries.length);
});

it('everything stored goes with the project', async () => {
  const git = await app.repository();
  const { index } = await collectionAt(newIndex(app), git, 'posts');
  const content = newIndex(app);
  await content.lastCommits(git, (await git.head('main')) ?? '', [index.entries[0]?.path ?? '']);
  await content.settled();
  const em = app.services.orm.em.fork();
  const tables = ['studio_blob', 'studio_schema', 'studio_marker', 'studio_last_commit'];
  const count = async () => {
    const sql = tables.map((table) => `select count(*)::int as rows from ${table}`).join(' union all ');
    return ((await em.execute(sql)) as { rows: number }[]).map(({ rows }) => rows > 0);
  };
  expect(await count()).toEqual([true, true, true, true]);
  await app.run(deleteProject, { organization: 'acme', project: 'site' });
  expect(await count()).toEqual([true, true, true, true]);
  app.clock.now = new Date(Date.now() + 31 * 24 * 3600_000);
  await runRetention(app.services, 400);
  expect(await count()).toEqual([false, false, false, false]);
});

it('a change in how files are read comes with a new version of the reader', () => {
  const files = { ...hostile, 'links/body.md': '[x](y.md)\n', 'links/value.md': '---\nphoto: y.jpg\n---\n' };
  const read = Object.entries(files).map(([path, text]) => {
    const bytes = Buffer.from(text as string);
    return [factsOf(bytes, path), wordsOf(parseFile(bytes, path))];
  });
  const digest = createHash('sha256').update(JSON.stringify(read)).digest('hex').slice(0, 16);
  // If the digest is another one, count `readerVersion` up: what was stored by the old reader must not be found any more.
  expect({ readerVersion, digest }).toEqual({ readerVersion: 5, digest: '478b8059347efd9d' });
});
