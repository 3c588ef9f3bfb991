import { execFileSync } from 'node:child_process';
import { beforeAll, expect, it } from 'vitest';
import type { ContentIndex } from '../../../../src/domain/studio/content/content-index.ts';
import { searchWords } from '../../../../src/domain/studio/content/search.ts';
import { pruneStoredContent } from '../../../../src/jobs/upkeep.ts';
import { shared, startTestApp, type TestApp } from '../../../support/app.ts';
import { overtake } from '../../../support/overtake.ts';
import { collectionAt, counted, newIndex, uncachedIndex } from './reading.ts';

const post = (word: string) => `---\ntitle: ${word}\n---\n\nBody of ${word}.\n`;
const pathOf = (word: string) => `content/posts/${word}.md`;
const author = { name: 'Seed', email: 'seed@portico.test' };
const never = new AbortController().signal;

const app = shared(startTestApp);
beforeAll(() => write('main', ['kept', 'tagged', 'topical', 'pulled', 'rescued', 'gone']));

/** Writes posts that consist of a word, or removes them; the application, which stores what comes to the default branch, has done so. */
async function write(branch: string, words: readonly string[], gone = false): Promise<void> {
  const changes = words.map((word) => ({ path: pathOf(word), content: gone ? null : Buffer.from(post(word)) }));
  const git = await app.repository();
  await git.write({ branch, author, plan: async () => ({ changes, message: 'Change', result: null }) });
  await app.services.studio.moves.settled();
  await app.services.studio.content.settled();
}

const sql = <Row>(text: string) => app.services.orm.em.fork().execute<Row[]>(text);
/** Titles of what is stored, and of those what is retired. */
async function stored() {
  const rows = await sql<{ title: string; retired: boolean }>(
    `select facts->>'title' as title, retired_at is not null as retired from studio_blob order by 1`,
  );
  const titles = (some: typeof rows) => some.map(({ title }) => title);
  return { all: titles(rows), retired: titles(rows.filter(({ retired }) => retired)) };
}
const prune = () => pruneStoredContent(app.services, never);
const later = (minutes: number) =>
  sql(`update studio_blob set retired_at = retired_at - interval '${minutes} minutes'`);

/** Which posts of the default branch hold a word, as an index finds them. */
async function search(content: ContentIndex, words: string, git?: Awaited<ReturnType<TestApp['repository']>>) {
  const repository = git ?? (await app.repository());
  const { index } = await collectionAt(content, repository, 'posts');
  return [...(await content.search(repository, index.entries, searchWords(words)))].map(({ slug }) => slug);
}

async function readAll(content = newIndex(app)): Promise<void> {
  const git = await app.repository();
  await content.site(git, await git.snapshot(await git.head('main')));
  await content.settled();
}

it('what a branch, a tag, a pull request or a rescue holds stays, and the rest goes an hour after', async () => {
  await readAll();
  const git = await app.repository();
  const { gitDir } = git as unknown as { gitDir: string };
  const head = (await git.head('main')) ?? '';
  const holding = async (word: string) => {
    await git.createBranch(`of-${word}`, head);
    const others = ['kept', 'tagged', 'topical', 'pulled', 'rescued', 'gone'].filter((one) => one !== word);
    await write(`of-${word}`, others, true);
    return (await git.head(`of-${word}`)) ?? '';
  };
  await holding('topical');
  const [tagged, pulled, rescued] = [await holding('tagged'), await holding('pulled'), await holding('rescued')];
  const env = { ...process.env, GIT_COMMITTER_NAME: 'T', GIT_COMMITTER_EMAIL: 't@portico.test' };
  execFileSync('git', ['--git-dir', gitDir, 'tag', '-a', '-m', 'One', 'one', tagged], { env });
  await git.updateRefs([{ name: 'refs/pull/1/head', to: pulled }]);
  await git.rescue('main', rescued);
  for (const word of ['tagged', 'pulled', 'rescued'])
    await git.deleteBranch(`of-${word}`, { tagged, pulled, rescued }[word] ?? '');
  await write('main', ['tagged', 'topical', 'pulled', 'rescued', 'gone'], true);

  await prune();
  const all = ['gone', 'kept', 'pulled', 'rescued', 'tagged', 'topical'];
  expect(await stored()).toEqual({ all, retired: ['gone'] });
  await later(59);
  await prune();
  expect((await stored()).all).toEqual(all);
  await later(2);
  await prune();
  expect(await stored()).toEqual({ all: all.slice(1), retired: [] });
});

it('what comes back is found, by a process that has known it as stored and by one that has not', async () => {
  await write('main', ['back']);
  await readAll();
  const trusting = newIndex(app);
  expect(await search(trusting, 'back')).toEqual(['back']);
  await write('main', ['back'], true);
  await prune();
  expect((await stored()).retired).toEqual(['back']);
  await later(59);

  await write('main', ['back']);
  const { git, count } = counted(await app.repository());
  expect(await search(trusting, 'back', git)).toEqual(['back']);
  // It still goes by what it knew.
  expect(count.blobs).toBe(0);
  const fresh = newIndex(app);
  expect(await search(fresh, 'back')).toEqual(['back']);
  await fresh.settled();
  expect((await stored()).retired).toEqual([]);
  await later(120);
  await prune();
  expect((await stored()).all).toContain('back');
  expect(await search(newIndex(app), 'back')).toEqual(['back']);
});

it('what comes back after its rows are gone is read again', async () => {
  await write('main', ['again']);
  await readAll();
  await write('main', ['again'], true);
  await prune();
  await later(61);
  await prune();
  expect((await stored()).all).not.toContain('again');
  await write('main', ['again']);
  const content = newIndex(app);
  expect(await search(content, 'again')).toEqual(['again']);
  await content.settled();
  expect((await stored()).all).toContain('again');
});

it('what is stored so late that nothing holds it any more goes with the next', async () => {
  await write('main', ['late']);
  const git = await app.repository();
  const snapshot = await git.snapshot(await git.head('main'));
  await write('main', ['late'], true);
  for (const minutes of [0, 61]) {
    await later(minutes);
    await prune();
  }
  expect((await stored()).all).not.toContain('late');
  const content = newIndex(app);
  await content.site(git, snapshot);
  await content.settled();
  expect(await stored()).toMatchObject({ all: expect.arrayContaining(['late']), retired: [] });
  await prune();
  expect((await stored()).retired).toEqual(['late']);
});

it('what is stored again at the very moment its row is removed is found', async () => {
  await write('main', ['twice']);
  const git = await app.repository();
  const snapshot = await git.snapshot(await git.head('main'));
  await write('main', ['twice'], true);
  await prune();
  expect((await stored()).retired).toContain('twice');
  const content = newIndex(app);
  const again = async () => {
    const { entries } = (await content.site(git, snapshot)).collection('posts');
    await content.settled();
    return entries;
  };
  const remove = `delete from studio_blob where facts->>'title' = 'twice'`;
  const entries = await overtake(app, (em) => em.execute(remove), again);
  expect((await stored()).all).toContain('twice');
  expect([...(await content.search(git, entries, searchWords('twice')))].map(({ slug }) => slug)).toEqual(['twice']);
});

it('a branch that comes back while rows are retired loses nothing', async () => {
  const words = Array.from({ length: 30 }, (_, at) => `word${at}`);
  await write('main', words);
  await readAll();
  const head = (await (await app.repository()).head('main')) ?? '';
  await write('main', words, true);
  await Promise.all([prune(), prune(), (await app.repository()).createBranch('returned', head)]);
  const git = await app.repository();
  const snapshot = await git.snapshot(head);
  for (const content of [newIndex(app), uncachedIndex()]) {
    const { entries } = (await content.site(git, snapshot)).collection('posts');
    expect((await content.search(git, entries, searchWords('word'))).size).toBe(30);
    await content.settled();
  }
  const { all, retired } = await stored();
  expect(words.filter((word) => !all.includes(word) || retired.includes(word))).toEqual([]);
});

it('paths that the default branch no longer has are forgotten, and found out again', async () => {
  const git = await app.repository();
  const content = newIndex(app);
  const last = async (word: string) =>
    (await content.lastCommits(git, (await git.head('main')) ?? '', [pathOf(word)])).get(pathOf(word))?.sha;
  const count = async () => (await sql<{ n: number }>('select count(*)::int as n from studio_last_commit'))[0]?.n;
  const kept = await last('kept');
  await content.settled();
  await write('main', ['short']);
  await last('short');
  await content.settled();
  await write('main', ['short'], true);
  const removal = await last('short');
  await content.settled();
  expect(removal).toBe(await git.head('main'));
  const before = (await count()) ?? 0;
  await prune();
  expect(await count()).toBeLessThan(before);
  expect(await last('kept')).toBe(kept);
  expect(await newIndex(app).lastCommits(git, removal ?? '', [pathOf('short'), pathOf('kept')])).toEqual(
    await uncachedIndex().lastCommits(git, removal ?? '', [pathOf('short'), pathOf('kept')]),
  );
});

it('schemas go after a month', async () => {
  await readAll();
  await sql(`update studio_schema set stored_at = now() - interval '29 days'`);
  await prune();
  expect((await sql('select 1 from studio_schema')).length).toBeGreaterThan(0);
  await sql(`update studio_schema set stored_at = now() - interval '31 days'`);
  await prune();
  expect(await sql('select 1 from studio_schema')).toEqual([]);
});
