import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
let commit: string;
const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 123\n`;
beforeAll(async () => {
  const files = {
    ...siteFiles,
    'bytes.bin': Buffer.from([0, 255, 1]),
    'latin.txt': Buffer.from([0x63, 0x61, 0x66, 0xe9]),
    'big.txt': 'x'.repeat(5 * 1024 * 1024 + 1),
    'photo.psd': pointer,
    'page.html': '<script>alert(1)</script>\n',
    'con/aux.md': 'unwise\n',
    'nfd/cafe\u0301.md': 'decomposed\n',
    'ö "quoted" <name>.svg': '<svg/>\n',
    'public/sw.mjs': 'self\n',
    'public/theme.css': 'a {}\n',
    'public/feed.rss': '<rss/>\n',
    'public/manual.pdf': '%PDF-1.4\n',
  };
  await seed(app, files);
  const git = await app.repository();
  const written = await git.write({
    branch: 'main',
    author: { name: 'S', email: 's@t' },
    plan: async () => ({
      message: 'Link',
      result: null,
      changes: [
        { path: 'link', content: Buffer.from('README.md'), mode: '120000' },
        { path: 'run.sh', content: Buffer.from('true\n'), mode: '100755' },
      ],
    }),
  });
  commit = written.commit?.sha ?? '';
});

const file = (path: string, query = '') => app.ask('GET', `${studio}/file?path=${encodeURIComponent(path)}${query}`);
const tree = (query = '') => app.ask('GET', `${studio}/filetree?${query}`);
const paths = async (query = '') => (await tree(query)).body.tree.map(({ path }: { path: string }) => path);

describe('filetree', () => {
  it('200: all of the project, directories before what they hold', async () => {
    const { status, headers, body } = await tree();
    expect(status).toBe(200);
    expect(body).toMatchObject({ commit, tree_sha: expect.stringMatching(/^[0-9a-f]{40}$/), truncated: false });
    const at = (path: string) => body.tree.find((item: { path: string }) => item.path === path);
    expect(at('README.md')).toEqual({
      path: 'README.md',
      type: 'blob',
      mode: '100644',
      sha: expect.any(String),
      size: 7,
    });
    expect(at('src/content')).toEqual({ path: 'src/content', type: 'tree', mode: '40000', sha: expect.any(String) });
    expect(at('link')).toMatchObject({ type: 'blob', mode: '120000', size: 9 });
    expect(at('run.sh')).toMatchObject({ mode: '100755' });
    const all = body.tree.map(({ path }: { path: string }) => path);
    expect(all.indexOf('src')).toBeLessThan(all.indexOf('src/content'));
    expect(new Set(all).size).toBe(all.length);
    expect(headers.get('etag')).toMatch(/^"[0-9a-f]{40}\.[0-9a-f]{8}"$/);
  });

  it('200: a part of it', async () => {
    expect(await paths('path=src/content/authors')).toEqual([
      'src/content/authors/ada.yaml',
      'src/content/authors/bob.yaml',
    ]);
    expect(await paths('path=src&depth=1')).toEqual(['src/content.config.ts', 'src/content']);
    expect(await paths('path=src&depth=1&flat=true')).toEqual(['src/content.config.ts']);
    expect(await paths('flat=true')).not.toContain('src');
    expect(await paths('path=')).toEqual(await paths());
    expect(await paths('path=con')).toEqual(['con/aux.md']);
  });

  it('304', async () => {
    const etag = (await tree('path=src')).headers.get('etag') ?? '';
    const again = (query: string) =>
      app.ask('GET', `${studio}/filetree?${query}`, { headers: { 'If-None-Match': etag } });
    expect((await again('path=src')).status).toBe(304);
    expect((await again('path=src&depth=1')).status).toBe(200);
  });

  it.each(['path=..', 'path=/', 'path=src/', 'path=.git', 'path=a%00'])('400: ?%s', async (query) => {
    expectRefusal(await tree(query), 400, 'invalid_path', /^path: /);
  });

  it.each(['path=none', 'path=README.md', 'path=link', 'path=link/x'])('404: ?%s is no directory', async (query) => {
    expectRefusal(await tree(query), 404, 'not_found', /^path: /);
  });
});

describe('file', () => {
  it('200: text as text', async () => {
    const { status, headers, body } = await file('README.md');
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        path: 'README.md',
        name: 'README.md',
        sha: expect.stringMatching(/^[0-9a-f]{40}$/),
        size: 7,
        encoding: 'utf-8',
        content: '# Site\n',
        mime: 'text/markdown',
      },
    });
    expect(headers.get('etag')).toMatch(new RegExp(`^"${body.sha}\\.`));
  });

  it.each(['bytes.bin', 'latin.txt'])('200: %s, which is no UTF-8, as base64', async (path) => {
    const { body } = await file(path);
    expect(body.encoding).toBe('base64');
    expect(Buffer.from(body.content, 'base64')).toHaveLength(body.size);
  });

  it('200: a pointer of LFS and a symlink say what they stand for', async () => {
    expect((await file('photo.psd')).body).toMatchObject({ lfs: { oid: 'a'.repeat(64), size: 123 }, content: pointer });
    expect((await file('link')).body).toMatchObject({ symlink_target: 'README.md', content: 'README.md' });
    expect((await file('README.md')).body).not.toHaveProperty('lfs');
  });

  it.each(['con/aux.md', 'nfd/cafe\u0301.md'])('200: %j, which could not be made here but is stored', async (path) => {
    expect((await file(path)).status).toBe(200);
  });

  it('200: raw bytes that no page of this origin can run or apply', async () => {
    for (const path of ['public/sw.mjs', 'public/theme.css'])
      expect((await file(path, '&raw=true')).headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect((await file('public/sw.mjs')).body.mime).toBe('text/javascript');
    for (const path of ['public/feed.rss', 'public/manual.pdf'])
      expect((await file(path, '&raw=true')).headers.get('content-disposition')).toMatch(/^attachment/);
  });

  it('200: raw bytes, safe to open in a browser', async () => {
    const svg = await file('ö "quoted" <name>.svg', '&raw=true');
    expect({ status: svg.status, body: svg.body }).toEqual({ status: 200, body: '<svg/>\n' });
    expect(svg.headers.get('x-content-type-options')).toBe('nosniff');
    expect(svg.headers.get('content-disposition')).toBe(
      "attachment; filename*=UTF-8''%C3%B6%20%22quoted%22%20%3Cname%3E.svg",
    );
    expect((await file('page.html', '&raw=true')).headers.get('content-disposition')).toMatch(/^attachment/);
    expect((await file('README.md', '&raw=true')).headers.get('content-disposition')).toBeNull();
    expect((await file('README.md', '&raw=true')).headers.get('cache-control')).toBe('private, no-cache');
    const forever = await file('README.md', `&raw=true&ref=${commit}`);
    expect(forever.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    expect((await file('big.txt', '&raw=true')).body).toHaveLength(5 * 1024 * 1024 + 1);
  });

  it('304', async () => {
    const etag = (await file('README.md')).headers.get('etag') ?? '';
    const again = await app.ask('GET', `${studio}/file?path=README.md`, { headers: { 'If-None-Match': etag } });
    expect(again.status).toBe(304);
  });

  it('400: without a path, or with one that could name something else', async () => {
    expectRefusal(await app.ask('GET', `${studio}/file`), 400, 'invalid_request', 'path: is required');
    for (const path of [
      '',
      '..',
      'a/../b',
      '/README.md',
      'README.md/',
      'a//b',
      '.git/config',
      'a\\b',
      'a\u0000',
      'x'.repeat(256),
    ])
      expectRefusal(await file(path), 400, 'invalid_path', /^path: /);
  });

  it.each(['none', 'src', 'link/x', 'README.md/x', 'readme.md', '*', 'README*'])('404: %s', async (path) => {
    expectRefusal(await file(path), 404, 'not_found', `path: ${path} is not a file`);
  });

  it('413: over 5 MiB without raw', async () => {
    expectRefusal(await file('big.txt'), 413, 'too_large', /^path: the file has 5242881 bytes/);
  });
});
