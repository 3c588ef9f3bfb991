import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { manifestPath, shortHash } from '../../../../src/domain/crawlers/snapshots/import/map-files.ts';
import {
  type Importing,
  type ImportPlan,
  planImport,
} from '../../../../src/domain/crawlers/snapshots/import/plan-import.ts';
import { Pace } from '../../../../src/lib/concurrency.ts';
import { foldCase } from '../../../../src/lib/text.ts';
import type { StagedTree } from '../../../../src/ports/git-writes.ts';
import { seed, shared, startTestApp, type TestApp } from '../../../support/app.ts';
import { beginImports, type Imports } from '../../../support/crawlers/imports.ts';
import { origin, type Page } from '../../../support/crawlers/snapshots.ts';
import fc from '../../../support/properties.ts';

const crawlers = '/api/v2/organizations/acme/projects/site/crawlers';
const app = shared(() => startTestApp({ PORTICO_MEDIA_LIMIT: '1' }));
let head: string;
beforeAll(async () => {
  head = await seed(app, { 'README.md': 'ours', 'site/own.html': 'ours as well' });
});

/** What a branch holds below a directory, as text. */
async function filesOf(directory = 'site'): Promise<Record<string, string>> {
  const git = await app.repository();
  const snapshot = await git.snapshot(await git.head('main'));
  const files = await snapshot.files(directory);
  return Object.fromEntries(
    await Promise.all(files.map(async ({ path, oid }) => [path, (await snapshot.blob(oid)).toString()] as const)),
  );
}

async function edit(changes: Record<string, string | null>): Promise<void> {
  const git = await app.repository();
  await git.write({
    branch: 'main',
    author: { name: 'Ed', email: 'ed@portico.test' },
    plan: async () => ({
      changes: Object.entries(changes).map(([path, text]) => ({
        path,
        content: text === null ? null : Buffer.from(text),
      })),
      message: 'Edit',
      result: null,
    }),
  });
}

let imports: Imports;
beforeEach(async () => {
  imports = await beginImports(app, head);
});

async function importSite(snapshot: number, body: object = {}) {
  const { status, body: queued } = await imports.start(snapshot, body);
  expect([status, queued.state]).toEqual([202, 'queued']);
  await imports.work(queued.id);
  return (await app.ask('GET', `${crawlers}/${imports.crawler.id}/imports/${queued.id}`)).body;
}

const css = (body: string): Page => ({ body, type: 'text/css', kind: 'asset' });

describe('importing a snapshot', () => {
  it('is one commit by the caller, with links between the files', async () => {
    const snapshot = await imports.capture({
      '/': '<a href="/a"><a href="https://www.example.com/old"><a href="/missing"><link rel=stylesheet href="/s/a.css?v=2">',
      '/a': '<base href="/x/"><a href="../">home</a><a href="#top">top</a>',
      '/old': { redirect: `${origin}/a` },
      '/s/a.css?v=2': css('a{background:url(../i.png)}'),
      '/i.png': { body: Buffer.from([1, 2, 255]), type: 'image/png', kind: 'asset' },
      'https://docs.example.com/guide/': '<a href="https://www.example.com/">',
    });
    const before = await imports.commits();
    const done = await importSite(snapshot, { message: 'Bring the site over' });
    expect(done).toMatchObject({
      state: 'completed',
      added: 5,
      changed: 0,
      removed: 0,
      skipped: [],
      error: null,
      mode: 'mirror',
    });
    expect(await imports.commits()).toBe(before + 1);
    const git = await app.repository();
    const commit = await git.commit(done.commit);
    expect(commit.message).toBe(`Bring the site over\n\nPortico-Import: ${done.id}`);
    const files = await filesOf();
    const sheet = Object.keys(files).find((path) => path.startsWith('s/')) ?? '';
    expect(files['index.html']).toBe(
      `<a href="a/"><a href="a/"><a href="${origin}/missing"><link rel=stylesheet href="${sheet}">`,
    );
    expect(files['a/index.html']).toBe(`<base href=""><a href="../">home</a><a href="${origin}/x/#top">top</a>`);
    expect(files[sheet]).toBe('a{background:url("../i.png")}');
    expect(files['guide/index.html']).toBe('<a href="../">');
    expect(files['own.html']).toBe('ours as well');
    const manifest = JSON.parse(files['_portico/snapshot.json'] ?? '');
    expect(manifest).toMatchObject({
      snapshot,
      origin,
      redirects: { [`${origin}/old`]: { status: 301, to: `${origin}/a` } },
    });
    expect(manifest.files[`${origin}/a`]).toBe('a/index.html');
  });

  it('is one of at most twenty of a project that wait or run', async () => {
    const snapshot = await imports.capture({ '/': 'home' });
    const statesSql = `update snapshot_import set state = 'failed' where state in ('queued', 'running')`;
    await app.services.orm.em.fork().execute(statesSql);
    const start = async (directory: string) => (await imports.start(snapshot, { directory })).body;
    const first = await start('d1');
    for (let place = 2; place < 20; place += 1) await start(`d${place}`);
    await app.services.orm.em
      .fork()
      .execute(`update snapshot_import set state = 'running' where id = ?`, [first.id + 1]);
    expect(await start('d20')).toMatchObject({ state: 'queued' });
    expect(await imports.start(snapshot, { directory: 'd21' })).toMatchObject({
      status: 409,
      body: {
        code: 'limit_reached',
        message: '20 imports of this project wait or run already; try again when one has ended',
      },
    });
    await imports.work(first.id);
    expect(await start('d21')).toMatchObject({ state: 'queued' });
    await app.services.orm.em.fork().execute(statesSql);
  });

  it('twice gives one commit, also of another snapshot with the same content', async () => {
    const pages = { '/': 'home', '/a.css': css('a{}') };
    const snapshot = await imports.capture(pages);
    const first = await importSite(snapshot);
    const after = await imports.commits();
    expect(await importSite(snapshot)).toMatchObject({
      state: 'completed',
      commit: null,
      added: 0,
      changed: 0,
      removed: 0,
      skipped: [],
    });
    expect(await importSite(await imports.capture(pages))).toMatchObject({ state: 'completed', commit: null });
    expect(await imports.commits()).toBe(after);
    expect(first.commit).toMatch(/^[0-9a-f]{40}$/);
  });

  it('mirrors: what it wrote goes with the site; what is edited or not its own stays and is named', async () => {
    await importSite(
      await imports.capture({
        '/': 'home',
        '/gone/': 'gone',
        '/edited/': 'edited',
        '/kept/': 'kept',
        '/lost/': 'lost',
      }),
    );
    await edit({ 'site/edited/index.html': 'by hand', 'site/lost/index.html': 'by hand too' });
    const done = await importSite(
      await imports.capture({ '/': 'home 2', '/edited/': 'edited 2', '/kept/': 'kept', '/own.html': 'not ours' }),
    );
    expect(done).toMatchObject({ added: 0, changed: 1, removed: 1 });
    expect(done.skipped).toEqual([
      { path: 'lost/index.html', url: null, reason: 'edited' },
      { path: 'edited/index.html', url: `${origin}/edited/`, reason: 'edited' },
      { path: 'own.html', url: `${origin}/own.html`, reason: 'not_imported' },
    ]);
    const { '_portico/snapshot.json': _, ...files } = await filesOf();
    expect(files).toEqual({
      'index.html': 'home 2',
      'edited/index.html': 'by hand',
      'kept/index.html': 'kept',
      'lost/index.html': 'by hand too',
      'own.html': 'ours as well',
    });
  });

  it('mirrors into a folder whose name has changed only in case', async () => {
    await importSite(await imports.capture({ '/Blog/a': 'a', '/Blog/gone': 'b' }), { directory: 'mirrored' });
    const done = await importSite(await imports.capture({ '/blog/a': 'new' }), { directory: 'mirrored' });
    expect(done).toMatchObject({ added: 0, changed: 1, removed: 1, skipped: [] });
    expect(await filesOf('mirrored')).toMatchObject({ 'Blog/a/index.html': 'new' });
    expect(await filesOf('mirrored')).not.toHaveProperty('Blog/gone/index.html');
  });

  it('adds: nothing is removed, and it is still known as its own afterwards', async () => {
    await importSite(await imports.capture({ '/': 'home', '/gone/': 'gone' }));
    expect(await importSite(await imports.capture({ '/': 'home', '/new/': 'new' }), { mode: 'add' })).toMatchObject({
      added: 1,
      removed: 0,
    });
    expect((await filesOf())['gone/index.html']).toBe('gone');
    expect(await importSite(await imports.capture({ '/': 'home' }))).toMatchObject({ removed: 2 });
    expect(Object.keys(await filesOf()).sort()).toEqual(['_portico/snapshot.json', 'index.html', 'own.html']);
  });

  it('leaves out what is over the limit, or has no room among what is there', async () => {
    const large = (bytes: number): Page => ({ body: Buffer.alloc(bytes, 'x'), type: 'text/plain', kind: 'asset' });
    await edit({ 'site/folder': 'a file' });
    const done = await importSite(
      await imports.capture({
        '/': 'home',
        '/over.txt': large(1024 * 1024 + 1),
        '/at.txt': large(1024 * 1024),
        '/folder/x.txt': large(1),
      }),
    );
    expect(done.skipped).toEqual([
      { path: 'folder/x.txt', url: `${origin}/folder/x.txt`, reason: 'blocked' },
      { path: 'over.txt', url: `${origin}/over.txt`, reason: 'too_large' },
    ]);
    expect(done.added).toBe(2);
  });

  it('documents and sheets become UTF-8, which is what files are served in', async () => {
    const type = 'text/html';
    await importSite(
      await imports.capture({
        '/': { body: Buffer.from('<p>caf\xe9<a href="/a?q=\xe9">', 'latin1'), type, charset: 'windows-1252' },
        '/a?q=%E9': 'found',
        '/utf8': { body: '<p>café', type, charset: 'windows-1252' },
        '/plain': { body: '<p>tea', type, charset: 'windows-1252' },
        '/s.css': { body: Buffer.from('a{content:"\xe9"}', 'latin1'), type: 'text/css', kind: 'asset', charset: 'gbk' },
      }),
    );
    const files = await filesOf();
    expect(files['index.html']).toMatch(/^\ufeff<p>café<a href="a\/index~[0-9a-f]{8}\.html">$/);
    // Nothing said what it is in, and the guess was wrong.
    expect(files['utf8/index.html']).toBe('<p>café');
    expect(files['plain/index.html']).toBe('<p>tea');
    expect(files['s.css']).toBe('\ufeffa{content:"\ufffd"}');
  });

  it('without new links the files are as they were captured', async () => {
    const text = `<a href="${origin}/a"><a href="/a">`;
    await importSite(await imports.capture({ '/': text, '/a': 'a' }), { rewrite_links: false, directory: '' });
    const files = await filesOf('');
    expect(files['index.html']).toBe(text);
    expect(files['README.md']).toBe('ours');
  });

  it('of a moved branch fails where the head was named, and says so', async () => {
    const snapshot = await imports.capture({ '/': 'home' });
    const moved = await imports.start(snapshot, { expected_head: head });
    await edit({ 'x.txt': 'x' });
    await imports.work(moved.body.id);
    const { body } = await app.ask('GET', `${crawlers}/${imports.crawler.id}/imports/${moved.body.id}`);
    expect(body).toMatchObject({ state: 'failed', error: expect.stringContaining('expected_head'), commit: null });
    expect((await filesOf())['index.html']).toBe(undefined);
  });

  it('that was committed by a process which died is found, not repeated', async () => {
    const done = await importSite(await imports.capture({ '/': 'home' }));
    const after = await imports.commits();
    await app.services.orm.em
      .fork()
      .execute(`update snapshot_import set state = 'running', commit_sha = null where id = ?`, [done.id]);
    // Its snapshot may be gone by now.
    await app.services.orm.em.fork().execute(`update snapshot set state = 'expired' where id = ?`, [done.snapshot_id]);
    await imports.work(done.id);
    expect((await app.ask('GET', `${crawlers}/${imports.crawler.id}/imports/${done.id}`)).body).toMatchObject({
      state: 'completed',
      commit: done.commit,
    });
    expect(await imports.commits()).toBe(after);
  });
});

/** What a plan leaves out of new files on a branch, and how much is looked at for it. */
async function planned(there: string[], fresh: string[]) {
  const files = there.map((path) => ({ path, mode: '100644', oid: 'a' }));
  const empty = { lookup: async () => ({ entry: null, blocked: null }), alike: async () => [] };
  const head = { ...empty, files: async () => files } as unknown as StagedTree;
  const captured = fresh.map((path) => ({ path, url: path, oid: 'b', content: Buffer.from('x') }));
  const about = { snapshot: 1, origin, files: new Map(), redirects: new Map() };
  const folds = vi.spyOn(String.prototype, 'normalize');
  const isDue = vi.spyOn(Pace.prototype, 'isDue', 'get');
  try {
    const { skipped } = await planImport(head, { directory: '', mode: 'add', files: captured, about });
    const blocked = skipped.map(({ path, reason }) => (reason === 'blocked' ? path : reason));
    // A name is normalised before it is folded and afterwards.
    return { blocked, folded: folds.mock.calls.length / 2, looks: isDue.mock.calls.length };
  } finally {
    vi.restoreAllMocks();
  }
}

describe('a directory in another spelling', () => {
  const pages = { '/': 'home', '/blog/b': 'b', '/blog/c': '<a href="/Blog/a">', '/blog/d': 'd' };
  const linked = '<a href="../a/">';

  it.each([
    ['mirror', 'own.html'],
    ['add', 'own.html'],
    ['mirror', 'd/index.html'],
  ])('keeps that of the branch (%s, with an own %s), and links lead there', async (mode, own) => {
    const directory = `kept-${mode}-${shortHash(own)}`;
    await importSite(await imports.capture(pages), { directory, mode });
    await edit({ [`${directory}/blog/${own}`]: 'mine' });
    const done = await importSite(await imports.capture({ ...pages, '/Blog/a': 'a' }), { directory, mode });
    expect(done).toMatchObject({ added: 1, changed: 1, removed: 0 });
    expect(done.skipped.map(({ reason }: { reason: string }) => reason)).toEqual(own === 'own.html' ? [] : ['edited']);
    const { [manifestPath]: _, ...files } = await filesOf(directory);
    const index = { 'index.html': 'home', 'blog/a/index.html': 'a', 'blog/b/index.html': 'b' };
    expect(files).toEqual({ ...index, 'blog/c/index.html': linked, 'blog/d/index.html': 'd', [`blog/${own}`]: 'mine' });
  });

  it('removes nothing whose replacement cannot stand', async () => {
    const oid = 'a'.repeat(40);
    const there = ['blog/b', 'blog/gone', 'blog/own', 'Other/x', 'Other/New/y', 'other/own'];
    const written = Object.fromEntries(there.filter((path) => !path.endsWith('own')).map((path) => [path, oid]));
    const about = { snapshot: 1, origin, files: new Map(), redirects: new Map() };
    const head = {
      lookup: async () => ({ entry: null, blocked: null }),
      files: async () => [...there, manifestPath].map((path) => ({ path, mode: '100644', oid })),
      blob: async () => Buffer.from(JSON.stringify({ snapshot: 1, origin, files: {}, redirects: {}, written })),
    } as unknown as StagedTree;
    const fresh = ['Blog/b', 'other/x', 'other/new/y'];
    const files = fresh.map((path) => ({ path, url: path, oid: 'b'.repeat(40), content: Buffer.from('x') }));
    const plan = await planImport(head, { directory: '', mode: 'mirror', files, about });
    expect(plan.skipped).toEqual([{ path: 'Blog/b', url: 'Blog/b', reason: 'blocked' }]);
    const done = plan.changes.flatMap(({ path, content }) => (path === manifestPath ? [] : [[path, content !== null]]));
    expect(done).toEqual([
      ['Other/New/y', false],
      ['Other/x', false],
      ['blog/gone', false],
      ['other/x', true],
      ['other/new/y', true],
    ]);
    expect([plan.added, plan.removed]).toEqual([2, 3]);
    const kept = JSON.parse(String(plan.changes.find(({ path }) => path === manifestPath)?.content)).written;
    expect(kept['blog/b']).toBe(oid);
  });
});

describe('files that stay because of each other', () => {
  it('have the rest of the directory looked at once', async () => {
    const oid = 'a'.repeat(40);
    const depth = 10;
    const folders = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, at) => `f${from + at}/`).join('');
    const numbers = Array.from({ length: depth }, (_, at) => at + 1);
    const old = numbers.map((at) => `${folders(1, at + 1)}x${at}`);
    const other = numbers.map((at) => `${folders(1, at - 1)}F${at}/f${at + 1}/`);
    const written = [...old, ...other.map((folder) => `${folder}z`)];
    const there = [...written, 'f1/own/q', ...Array.from({ length: 1_000 }, (_, at) => `own/${at}`), manifestPath];
    const head = {
      lookup: async () => ({ entry: null, blocked: null }),
      files: async () => there.map((path) => ({ path, mode: '100644', oid })),
      blob: async () => {
        const ours = Object.fromEntries(written.map((path) => [path, oid]));
        return Buffer.from(JSON.stringify({ snapshot: 1, origin, files: {}, redirects: {}, written: ours }));
      },
    } as unknown as StagedTree;
    const files = other.map((folder, at) => {
      const path = `${folder}x${at + 1}`;
      return { path, url: path, oid: 'b'.repeat(40), content: Buffer.from('x') };
    });
    const about = { snapshot: 1, origin, files: new Map(), redirects: new Map() };
    const folds = vi.spyOn(String.prototype, 'normalize');
    const { removed, skipped } = await planImport(head, { directory: '', mode: 'mirror', files, about });
    // A name is normalised before it is folded and afterwards.
    const folded = folds.mock.calls.length / 2;
    vi.restoreAllMocks();
    expect([removed, skipped.length]).toEqual([depth, depth]);
    expect(folded).toBeLessThan(2_000);
  });
});

describe('the manifest', () => {
  const oid = 'a'.repeat(40);
  /** Imports files into the root of a branch that holds them already, under another snapshot than what was written there. */
  const plan = (
    manifest: string | null,
    paths: readonly string[],
    about: Partial<Omit<Importing['about'], 'snapshot'>> = {},
  ) => {
    const there = manifest === null ? [] : [...paths, manifestPath];
    const head = {
      lookup: async () => ({ entry: null, blocked: null }),
      alike: async () => [],
      files: async () => there.map((path) => ({ path, mode: '100644', oid })),
      blob: async () => Buffer.from(manifest ?? ''),
    } as unknown as StagedTree;
    const files = paths.map((path) => ({ path, url: path, oid, content: Buffer.from('x') }));
    const empty = { snapshot: manifest === null ? 1 : 2, origin, files: new Map(), redirects: new Map() };
    return planImport(head, { directory: '', mode: 'add', files, about: { ...empty, ...about } });
  };
  const manifestOf = ({ changes }: ImportPlan) =>
    String(changes.find(({ path }) => path === manifestPath)?.content ?? '');

  it('is indented JSON in order, and is read as it was written', async () => {
    const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).map((text) => `x${text}`);
    const name = fc.oneof(word, fc.nat().map(String));
    const redirect = fc.record({ status: fc.integer({ min: 300, max: 399 }), to: name });
    const sorted = (record: object) =>
      Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : Number(a > b))));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(name, { maxLength: 8 }),
        fc.dictionary(name, name, { maxKeys: 5 }),
        fc.dictionary(name, redirect, { maxKeys: 5 }),
        async (paths, files, redirects) => {
          const about = { files: new Map(Object.entries(files)), redirects: new Map(Object.entries(redirects)) };
          const text = manifestOf(await plan(null, paths, about));
          const written = sorted(Object.fromEntries(paths.map((path) => [path, oid])));
          const shown = { snapshot: 1, origin, files: sorted(files), redirects: sorted(redirects), written };
          expect(JSON.parse(text)).toEqual(shown);
          // JSON.stringify() has names of digits first, whatever their order.
          const isInOrder = ![...paths, ...about.files.keys(), ...about.redirects.keys()].some((one) =>
            /^\d/.test(one),
          );
          if (isInOrder) expect(text).toBe(`${JSON.stringify(shown, null, 2)}\n`);
          // The same site by another snapshot, also where somebody has formatted the manifest, is no change.
          for (const kept of [text, JSON.stringify(shown)])
            expect((await plan(kept, paths, about)).changes).toEqual([]);
        },
      ),
    );
  });

  it('of many files is read and written in steps', async () => {
    const paths = Array.from({ length: 20_000 }, (_, at) => `page-${at}.html`);
    const text = manifestOf(await plan(null, paths));
    expect(text.length).toBeGreaterThan(1024 * 1024);
    const isDue = vi.spyOn(Pace.prototype, 'isDue', 'get');
    const parse = vi.spyOn(JSON, 'parse');
    const stringify = vi.spyOn(JSON, 'stringify');
    try {
      expect((await plan(text, paths)).changes).toEqual([]);
      expect(parse.mock.calls.every(([line]) => line.length < 10_000)).toBe(true);
      expect(stringify.mock.results.every(({ value }) => value.length < 10_000)).toBe(true);
      expect(isDue.mock.calls.length).toBeGreaterThan(2 * paths.length);
    } finally {
      vi.restoreAllMocks();
    }
  });

  it.each([
    ['with a line that is none of an import', (text: string) => text.replace(oid, 'abc')],
    ['with a line that does not end', (text: string) => text.replace(oid, 'a'.repeat(50_000))],
    ['that is cut off', (text: string) => text.slice(0, -100)],
    ['of more than a mebibyte in another format', (text: string) => text.replaceAll('\n', ' ')],
    ['without a snapshot', (text: string) => text.replace('snapshot', 'of')],
  ])('%s is another file', async (_, change) => {
    const paths = Array.from({ length: 20_000 }, (_, at) => `page-${at}.html`);
    const text = manifestOf(await plan(null, paths));
    await expect(plan(change(text), paths)).rejects.toMatchObject({
      code: 'not_editable',
      message: `directory: ${manifestPath} is there and was not written by an import`,
    });
  });

  it('has at most as many files as a repository', async () => {
    const manifest = (count: number) => {
      const lines = Array.from({ length: count }, (_, at) => `    "${at}": "${oid}"`);
      return `{\n  "snapshot": 1,\n  "written": {\n${lines.join(',\n')}\n  }\n}\n`;
    };
    expect((await plan(manifest(200_000), ['7'])).skipped).toEqual([]);
    await expect(plan(manifest(200_001), ['7'])).rejects.toMatchObject({ code: 'not_editable' });
  });
});

describe('names beside those of a branch', () => {
  const upTo = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at));
  const deep = upTo(46, (at) => `Ъ${at}`).join('/');

  it('are looked at once for each file, however many folders it lies below', async () => {
    const there = upTo(1_000, (at) => `x${at}/${deep}/f`);
    const { blocked, folded } = await planned(there, ['new/index.html', `X5/index.html`, `x7/${deep}/F`]);
    expect(blocked).toEqual(['X5/index.html', `x7/${deep}/F`]);
    expect(folded).toBeLessThan(1_010);
  });

  it('are looked at once for all new files, and others are served meanwhile', async () => {
    const there = upTo(1_000, (at) => `${deep}/${at}`);
    const fresh = upTo(1_000, (at) => `${deep}/new${at}`);
    const { blocked, folded, looks } = await planned(there, [...fresh, `${deep.toLowerCase()}/x`]);
    expect(blocked).toEqual([`${deep.toLowerCase()}/x`]);
    expect(folded).toBeLessThan(2_100);
    expect(looks).toBeGreaterThanOrEqual(2_000);
  });

  it('block also where a folder is there in two spellings', async () => {
    const { blocked } = await planned(
      ['Blog/a/x', 'blog/b/x'],
      ['Blog/b/x', 'Blog/b/y', 'Blog/c/x', 'blog/B/y', 'blog/c'],
    );
    expect(blocked).toEqual(['Blog/b/x', 'Blog/b/y', 'blog/B/y']);
  });

  it('block what is alike, and nothing else', async () => {
    const path = fc
      .array(fc.constantFrom('a', 'A', 'a-', 'A-', 'a.b', 'A.b', 'a0', 'é', 'e\u0301', 'É', '😀', '\uffee'), {
        minLength: 1,
        maxLength: 4,
      })
      .map((names) => names.join('/'));
    const paths = fc.uniqueArray(path, { maxLength: 12 });
    /** A path and its folders. */
    const onTheWay = (one: string) => one.split('/').map((_, depth, names) => names.slice(0, depth + 1).join('/'));
    await fc.assert(
      fc.asyncProperty(paths, paths, async (some, others) => {
        const there = some.filter((one) => !some.some((other) => other.startsWith(`${one}/`)));
        const fresh = others.filter((one) => !there.includes(one));
        const taken = new Set(there.flatMap(onTheWay));
        const folded = new Set([...taken].map(foldCase));
        const isAlike = (name: string, path: string) =>
          folded.has(foldCase(name)) && (name === path || there.includes(name) || !taken.has(name));
        const expected = fresh.filter((one) => onTheWay(one).some((name) => isAlike(name, one)));
        expect((await planned(there, fresh)).blocked).toEqual(expected);
      }),
    );
  });
});

describe('what is refused', () => {
  it.each([
    [{ branch: 'nowhere' }, 404, 'nowhere'],
    [{ branch: 7 }, 400, 'branch: must be the name of a branch'],
    [{ directory: '../x' }, 400, 'directory: '],
    [{ directory: '.git' }, 400, 'directory: '],
    [{ directory: 'content/gitmod~1' }, 422, 'directory: '],
    [{ mode: 'replace' }, 400, 'mode: must be mirror or add'],
    [{ expected_head: 'abc' }, 400, 'expected_head: must be a full commit id'],
  ])('%j', async (body, status, message) => {
    const answer = await imports.start(await imports.capture({ '/': 'home' }), body);
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
  });

  it('needs browse_crawlers and manage_studio', async () => {
    const path = `${crawlers}/${imports.crawler.id}/snapshots/${await imports.capture({ '/': 'home' })}/import`;
    const ask = async (permissions: Parameters<TestApp['makeToken']>[0]) =>
      (await app.ask('POST', path, { token: await app.makeToken(permissions), body: { branch: 'main' } })).status;
    expect(await ask(['browse_crawlers', 'edit_crawlers', 'edit_studio'])).toBe(403);
    expect(await ask(['manage_studio', 'manage_crawlers'])).toBe(403);
    expect(await ask(['browse_crawlers', 'manage_studio'])).toBe(202);
  });

  it('what waited until the rights of its requester had ended', async () => {
    const tokens = '/api/v2/organizations/acme/tokens';
    const token = await app.makeToken(['browse_crawlers', 'manage_studio']);
    const path = `${crawlers}/${imports.crawler.id}/snapshots/${await imports.capture({ '/': 'home' })}/import`;
    const queued = await app.ask('POST', path, { token, body: { branch: 'main', directory: 'late' } });
    expect(queued.status).toBe(202);
    const [newest] = (await app.ask('GET', tokens)).body;
    expect((await app.ask('DELETE', `${tokens}/${newest.id}`)).status).toBe(200);
    await imports.work(queued.body.id);
    expect(await imports.read(queued.body.id)).toMatchObject({
      state: 'failed',
      error: 'Missing permission: manage_studio',
      commit: null,
    });
    expect(await filesOf('late')).toEqual({});
  });

  it('names that differ from what is there only in case or normalisation', async () => {
    await edit({ 'cased/INDEX.html': 'ours', 'cased/BLOG/x.html': 'ours', 'cased/Straße/x.html': 'ours' });
    const snapshot = await imports.capture({ '/': 'home', '/blog/a': 'a', '/STRASSE': 's', '/other': 'o' });
    const { skipped } = await importSite(snapshot, { directory: 'cased' });
    expect(skipped.map(({ reason }: { reason: string }) => reason)).toEqual(['blocked', 'blocked', 'blocked']);
    expect(Object.keys(await filesOf('cased')).sort()).toEqual(
      ['BLOG/x.html', 'INDEX.html', 'Straße/x.html', '_portico/snapshot.json', 'other/index.html'].sort(),
    );
    expect(await importSite(snapshot, { directory: 'Cased' })).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('Cased differs from cased only in case or normalisation'),
    });
  });

  it.each([
    ['_PORTICO/x.txt', '_portico differs from _PORTICO only in case or normalisation'],
    ['_portico/Snapshot.json', 'snapshot.json differs from Snapshot.json only in case or normalisation'],
    ['_portico', 'DIRECTORY/_portico is a file, not a directory'],
    ['_portico/snapshot.json/x.txt', 'DIRECTORY/_portico/snapshot.json exists'],
  ])('a directory whose %s leaves no room for the manifest', async (path, error) => {
    const directory = `beside${shortHash(path)}`;
    await edit({ [`${directory}/${path}`]: 'ours' });
    const done = await importSite(await imports.capture({ '/': 'home' }), { directory });
    expect(done).toMatchObject({ state: 'failed', error: `directory: ${error.replace('DIRECTORY', directory)}` });
    expect(Object.keys(await filesOf(directory))).toEqual([path]);
  });

  it('a new directory beside one that is alike, but none that stands beside one', async () => {
    await edit({
      'Twin/a.txt': 'a',
      'twin/b.txt': 'b',
      'x/Deep/a.txt': 'a',
      'x/deep/b.txt': 'b',
      'Twin/New/a.txt': 'a',
    });
    const snapshot = await imports.capture({ '/': 'home' });
    for (const directory of ['twin', 'x/deep', 'x/deep/new', 'x'])
      expect(await importSite(snapshot, { directory })).toMatchObject({ state: 'completed', added: 1, skipped: [] });
    for (const [directory, error] of [
      ['TWIN', 'directory: TWIN differs from Twin only in case or normalisation'],
      ['twin/new', 'directory: new differs from New only in case or normalisation'],
      ['twin/New', 'directory: twin/New differs from Twin/New only in case or normalisation'],
      ['x/Deep', 'directory: x/Deep/_portico differs from x/deep/_portico only in case or normalisation'],
    ])
      expect(await importSite(snapshot, { directory })).toMatchObject({ state: 'failed', error });
  });

  it('a directory in which a foreign manifest lies, or that is a file', async () => {
    await edit({ 'other/_portico/snapshot.json': '{"x":1}', plain: 'a file' });
    const snapshot = await imports.capture({ '/': 'home' });
    expect(await importSite(snapshot, { directory: 'other' })).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('not written by an import'),
    });
    expect(await importSite(snapshot, { directory: 'plain/below' })).toMatchObject({
      state: 'failed',
      error: 'directory: plain is a file, not a directory',
    });
  });
});
