import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkProject } from '../../src/domain/backups/check-project.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { searchWords } from '../../src/domain/studio/content/search.ts';
import { collectionAt, counted, newIndex } from '../domain/studio/content/reading.ts';
import { acme, startTestApp, type TestApp } from '../support/app.ts';
import { post, postPath, seedPosts } from '../support/conflict-site.ts';
import { git } from '../support/git-store.ts';
import { expectRefusal } from '../support/refusal.ts';

let dataDir: string;
let app: TestApp;
let project: string;
let gitDir: string;
let made = 0;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'portico-corrupt-'));
  app = await startTestApp({ PORTICO_DATA_DIR: dataDir });
});
afterAll(async () => {
  await app?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Each test has a repository of its own, which nothing has read yet. */
beforeEach(async () => {
  project = `site-${++made}`;
  await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
  await seedPosts(app, project);
  gitDir = path.join(dataDir, 'git', `${(await app.repository(project)).id}.git`);
});

interface Listed {
  slug: string;
  error?: object;
}

const ask = (place: string) => app.ask('GET', `${acme}/projects/${project}/studio/${place}`);

/** Overwrites a loose object: its head (nothing of it can be read) or its end (its size is still known). */
async function corrupt(name: string, where: 'head' | 'end' | 'gone', ref = 'main'): Promise<void> {
  const oid = git(gitDir, ['rev-parse', `${ref}:${name}`]);
  const file = path.join(gitDir, 'objects', oid.slice(0, 2), oid.slice(2));
  if (where === 'gone') return rm(file);
  const whole = await readFile(file);
  await chmod(file, 0o644);
  await writeFile(file, where === 'head' ? Buffer.alloc(whole.length, 0xff) : whole.subarray(0, whole.length - 8));
}

const written = post({ title: 'B', description: 'Text', draft: false, tags: ['one'] }, 'Written by git.\n');

/** Commits a file by git itself, and shows it when it is damaged: the server reads what a branch has at any moment. */
async function writeDamaged(name: string, content: string, where: 'head' | 'end' | 'gone'): Promise<void> {
  const unseen = 'refs/unseen/made';
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const commit = `commit ${unseen}\ncommitter A <a@portico.test> 1 +0000\n${data('Write')}from refs/heads/main^0\n`;
  git(gitDir, ['fast-import', '--quiet'], `${commit}M 100644 inline ${name}\n${data(content)}`);
  await corrupt(name, where, unseen);
  git(gitDir, ['update-ref', 'refs/heads/main', unseen]);
  git(gitDir, ['update-ref', '-d', unseen]);
}

describe.each(['head', 'end', 'gone'] as const)('a blob whose object is damaged (%s)', (where) => {
  beforeEach(() => writeDamaged(postPath('b'), written, where));

  it('503 for each request that needs it, and the rest is served', async () => {
    for (let times = 0; times < 2; times += 1) {
      expectRefusal(await ask(`file?path=${postPath('b')}`), 503, 'repository_unavailable', /./);
      expectRefusal(await ask('collections/posts/b'), 503, 'repository_unavailable', /./);
      expectRefusal(await ask('collections/posts/b?raw=true'), 503, 'repository_unavailable', /./);
    }
    expect(await ask(`file?path=${postPath('a')}`)).toMatchObject({ status: 200, body: { encoding: 'utf-8' } });
    expect(await ask('collections/posts/a')).toMatchObject({ status: 200, body: { frontmatter: { title: 'A' } } });
    expect((await ask('collections/pages')).body).toHaveLength(1);
    for (const place of ['branches', 'commits', 'repository', 'filetree', 'pulls', 'schema'])
      expect([place, (await ask(place)).status]).toEqual([place, 200]);
  });

  it('is listed as unreadable, counted as invalid, and found by no search', async () => {
    for (let times = 0; times < 2; times += 1) {
      for (const query of [
        '',
        '?sort=title',
        '?filter[description][eq]=Text&sort=-title',
        '?include=body',
        '?draft=any',
      ]) {
        const { status, body } = await ask(`collections/posts${query}`);
        expect([query, status]).toEqual([query, 200]);
        const b = body.find(({ slug }: { slug: string }) => slug === 'b');
        if (query.startsWith('?filter')) expect(b).toBeUndefined();
        else expect(b).toMatchObject({ frontmatter: null, title: 'B', error: { code: 'unreadable', line: 1 } });
        const a = body.find(({ slug }: { slug: string }) => slug === 'a');
        expect(a).toMatchObject({ frontmatter: { title: 'A' } });
        expect(a).not.toHaveProperty('error');
      }
      const { body } = await ask('collections');
      expect(body.find(({ name }: { name: string }) => name === 'posts')).toMatchObject({ invalid_count: 1 });
      const found = await ask('collections/posts?q=text');
      expect(found.status).toBe(200);
      expect(found.body.map(({ slug }: { slug: string }) => slug)).not.toContain('b');
      expect(found.body.map(({ slug }: { slug: string }) => slug)).toContain('a');
    }
  });

  it('delays no other request of the same moment', async () => {
    const places = ['a', 'b', 'c', 'd'].map((slug) => `file?path=${postPath(slug)}`);
    const answers = await Promise.all([...places, ...places, ...places].map(ask));
    expect(answers.map(({ status }) => status)).toEqual([200, 503, 200, 200, 200, 503, 200, 200, 200, 503, 200, 200]);
  });

  it('takes writes that do not need it, and is found by a check', async () => {
    const url = `${acme}/projects/${project}/studio/collections/posts`;
    const { status } = await app.ask('PUT', `${url}/a`, { body: { frontmatter: { title: 'Changed' } } });
    expect(status).toBe(200);
    expect((await ask('collections/posts/a')).body.frontmatter.title).toBe('Changed');
    const oid = git(gitDir, ['rev-parse', `main:${postPath('b')}`]);
    const found = (await app.run(checkProject, { organization: 'acme', project })) as {
      problems: { message: string }[];
    };
    expect(found.problems.map(({ message }) => message).join('\n')).toContain(oid);
  });

  it('is whole again when the object comes back', async () => {
    await ask(`file?path=${postPath('b')}`);
    const lists = ['collections/posts', 'collections/posts?sort=title', 'collections', 'collections/posts?q=text'];
    const before = await Promise.all(lists.map(ask));
    const oid = git(gitDir, ['rev-parse', `main:${postPath('b')}`]);
    await rm(path.join(gitDir, 'objects', oid.slice(0, 2), oid.slice(2)), { force: true });
    expect(git(gitDir, ['hash-object', '-w', '--stdin'], written)).toBe(oid);
    expect((await ask(`file?path=${postPath('b')}`)).status).toBe(200);
    const versions = { 'If-None-Match': before.map(({ headers }) => headers.get('etag')).join(', ') };
    const [list, sorted, counted, found] = await Promise.all(
      lists.map((list) => app.ask('GET', `${acme}/projects/${project}/studio/${list}`, { headers: versions })),
    );
    for (const [at, answer] of [list, sorted, counted, found].entries()) {
      if (answer === counted) continue;
      // What was read of it before it was damaged still holds.
      const wasWhole = before[at]?.body.some(({ slug, error }: Listed) => slug === 'b' && !error);
      if (wasWhole && answer?.status === 304) continue;
      expect([lists[at], answer?.status]).toEqual([lists[at], 200]);
      const b = answer?.body.find(({ slug }: Listed) => slug === 'b');
      expect(b).toMatchObject({ frontmatter: { title: 'B' } });
      expect(b).not.toHaveProperty('error');
    }
    const counts = counted?.status === 304 ? before[2] : counted;
    expect(counts?.body.map(({ invalid_count }: { invalid_count: number }) => invalid_count)).toEqual([0, 0]);
    expect(await app.run(checkProject, { organization: 'acme', project })).toEqual({ problems: [] });
  });
});

it('what a damaged blob said is remembered by other processes', async () => {
  await ask('collections/posts');
  await app.services.studio.content.settled();
  await corrupt(postPath('b'), 'head');
  const content = newIndex(app);
  const { git, count } = counted(await app.repository(project));
  const { snapshot, index } = await collectionAt(content, git, 'posts');
  const facts = await content.facts(git, snapshot, index.entries.slice(0, 2));
  expect(facts.map(({ frontmatter }) => frontmatter?.title)).toEqual(['A', 'B']);
  expect(count.blobs).toBeGreaterThan(0);
  expect([...(await content.search(git, index.entries, searchWords('b')))].map(({ slug }) => slug)).toEqual(['b']);
});
