import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { type Answer, acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { expectRefusal } from '../support/refusal.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAAEklEQVR4nGNgYGD4D8UMQAoIAA8EAgH0y2bHAAAAAElFTkSuQmCC',
  'base64',
);
const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 123456\n`;

/** A box of ISO/IEC 14496-12: its size, its type, what it holds. */
function box(type: string, ...held: Buffer[]): Buffer {
  const body = Buffer.concat(held);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(head.length + body.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
}
/** An AVIF that names its dimensions, 9 by 9, so many times; a parser compares each with all after it. */
function avif(times: number): Buffer {
  const extent = box('ispe', Buffer.from([0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 9]));
  const properties = box('iprp', box('ipco', ...Array.from({ length: times }, () => extent)));
  return Buffer.concat([box('ftyp', Buffer.from('avif\0\0\0\0avif')), box('meta', Buffer.alloc(4), properties)]);
}
/** A JPEG of 4 by 3 behind a profile of 557 KB (JPEG, annex B; ICC.1, annex B.4). */
function jpegWithProfile(): Buffer {
  const segment = (marker: number, body: Buffer) => {
    const size = Buffer.alloc(2);
    size.writeUInt16BE(body.length + 2);
    return Buffer.concat([Buffer.from([0xff, marker]), size, body]);
  };
  const profile = Array.from({ length: 9 }, () => segment(0xe2, Buffer.alloc(62_000)));
  const frame = segment(0xc0, Buffer.from([8, 0, 3, 0, 4, 1, 1, 0x11, 0]));
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...profile, frame, Buffer.alloc(16)]);
}

const app = shared(() => startTestApp({ PORTICO_MEDIA_LIMIT: '1' }));
let weak: string;

beforeAll(async () => {
  weak = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
  await seed(app, {
    'content/posts/a.md': '---\ntitle: A\ncover: /img/used.png\n---\n\nHello\n',
    'content/posts/b.md': '---\ntitle: B\n---\n\n![x](../../public/img/in%20body.png)\n',
    'public/img/used.png': png,
    'public/img/in body.png': png,
    'public/img/free.png': png,
    'public/big.bin': pointer,
    'public/.hidden/x.png': png,
  });
});

const list = async (query = '') => (await app.ask('GET', `${studio}/media${query}`)).body;
const upload = (body: object, token = app.token) => app.ask('POST', `${studio}/media`, { body, token });
const base64 = png.toString('base64');

async function multipart(parts: [string, string | { name: string; content: Buffer }][], token = app.token) {
  const form = new FormData();
  for (const [name, part] of parts) {
    if (typeof part === 'string') form.append(name, part);
    else form.append(name, new Blob([new Uint8Array(part.content)]), part.name);
  }
  const response = await fetch(`${app.url}${studio}/media`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: form,
  });
  return { status: response.status, headers: response.headers, body: await response.json() } as Answer;
}

describe('list', () => {
  it('shows directories first, with sizes, dimensions and public paths, and nothing hidden', async () => {
    expect((await list()).map((item: { path: string; type: string }) => [item.path, item.type])).toEqual([
      ['public/img', 'dir'],
      ['public/big.bin', 'file'],
    ]);
    const files = await list('?path=public/img');
    expect(files.map((item: { name: string }) => item.name)).toEqual(['free.png', 'in body.png', 'used.png']);
    expect(files[1]).toMatchObject({
      mime: 'image/png',
      width: 2,
      height: 3,
      size: png.length,
      public_path: '/img/in%20body.png',
    });
  });
  it('looks for the dimensions of an image at its beginning', async () => {
    await app.run(createProject, { organization: 'acme', name: 'Images' });
    const images = { 'long.avif': avif(5_000), 'short.avif': avif(2), 'print.jpg': jpegWithProfile() };
    await seed(
      app,
      Object.fromEntries(Object.entries(images).map(([name, image]) => [`public/${name}`, image])),
      'images',
    );
    const { body: files } = await app.ask('GET', `${acme}/projects/images/studio/media?path=public`);
    const found = files.map((item: { name: string; width?: number }) => [item.name, item.width]);
    expect(found).toEqual([
      ['long.avif', undefined],
      ['print.jpg', 4],
      ['short.avif', 9],
    ]);
  });
  it('shows what an LFS pointer stands for', async () => {
    const [, file] = await list();
    expect(file).toMatchObject({ size: 123456, lfs: { oid: 'a'.repeat(64), size: 123456 } });
  });
  it('filters by type and text, pages and sorts', async () => {
    expect(await list('?recursive=true&type=image&q=FREE')).toHaveLength(1);
    const names = (await list('?recursive=true&sort=-path')).map((item: { path: string }) => item.path);
    expect(names).toEqual(['public/img/used.png', 'public/img/in body.png', 'public/img/free.png', 'public/big.bin']);
    expect(await list('?recursive=true&per_page=1&page=2')).toHaveLength(1);
  });
  it('finds no directory outside media roots', async () => {
    for (const path of ['content', 'public/none', 'content/posts']) {
      expect((await app.ask('GET', `${studio}/media?path=${path}`)).status).toBe(404);
    }
    expect((await app.ask('GET', `${studio}/media?path=public/../x`)).status).toBe(400);
  });
});

describe('upload as JSON', () => {
  it('201: stores the bytes in one commit', async () => {
    const answer = await upload({ path: 'public/img/new image.png', content: base64 });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ path: 'public/img/new-image.png', width: 2, unchanged: false });
    expect(answer.headers.get('x-commit-sha')).toBe(answer.body.commit.sha);
    const raw = await fetch(`${app.url}${studio}/file?raw=true&path=public/img/new-image.png`, {
      headers: { Authorization: `Bearer ${app.token}` },
    });
    expect(Buffer.from(await raw.arrayBuffer())).toEqual(png);
  });
  it('200: the same bytes at the same path make no commit', async () => {
    const answer = await upload({ path: 'public/img/free.png', content: base64 });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ unchanged: true, commit: null });
  });
  it('409: files of one request whose names differ only in case or normalisation; rename settles it', async () => {
    const named = (...names: string[]) =>
      names.map((name): [string, { name: string; content: Buffer }] => ['file', { name, content: png }]);
    for (const pair of [
      ['case.png', 'CASE.png'],
      ['Straße.png', 'STRASSE.png'],
    ]) {
      const refused = await multipart([['path', 'public/pairs'], ...named(...pair)]);
      expectRefusal(refused, 409, 'name_collision', /differs from public\/pairs\/.* only in case or normalisation/);
    }
    const renamed = await multipart([
      ['path', 'public/pairs'],
      ['rename', 'true'],
      ...named('case.png', 'CASE.png', 'case.png'),
    ]);
    expect(renamed.body.map(({ path }: { path: string }) => path)).toEqual([
      'public/pairs/case.png',
      'public/pairs/CASE-1.png',
      'public/pairs/case-2.png',
    ]);
  });

  it('409: another file is there; overwrite and rename settle it', async () => {
    const other = Buffer.concat([png, Buffer.from([0])]).toString('base64');
    expect((await upload({ path: 'public/img/free.png', content: other })).body.code).toBe('already_exists');
    const renamed = await upload({ path: 'public/img/free.png', content: other, rename: true });
    expect(renamed.body.path).toBe('public/img/free-1.png');
    const stale = await upload({ path: 'public/img/used.png', content: other, overwrite: true, sha: '0'.repeat(40) });
    expect([stale.status, stale.body.code]).toEqual([409, 'sha_mismatch']);
    expect((await upload({ path: 'public/img/free-1.png', content: base64, overwrite: true })).status).toBe(201);
  });
  it('412: what is overwritten is not the version that was seen', async () => {
    const path = 'public/img/seen.png';
    const { body } = await upload({ path, content: base64 });
    const over = (bytes: number, headers: Record<string, string>) => {
      const content = Buffer.concat([png, Buffer.alloc(bytes)]).toString('base64');
      return app.ask('POST', `${studio}/media`, { body: { path, content, overwrite: true }, headers });
    };
    const seen = { 'if-match': `"${body.sha}"` };
    expect((await over(1, seen)).status).toBe(201);
    expectRefusal(await over(2, seen), 412, 'precondition_failed', /^If-Match: /);
    expectRefusal(await over(2, { 'if-none-match': '*' }), 412, 'precondition_failed', /^If-None-Match: /);
    const gone = { 'if-match': `"${(await app.ask('GET', `${studio}/media/${path}`)).body.sha}"` };
    expect((await app.ask('DELETE', `${studio}/media/${path}`)).status).toBe(200);
    expectRefusal(await over(2, gone), 412, 'precondition_failed', /^If-Match: the file has been deleted/);
    expect((await over(2, {})).status).toBe(201);
  });
  it('415: the type is not allowed, or the bytes are of another', async () => {
    const script = Buffer.from('<script>alert(1)</script>').toString('base64');
    for (const path of [
      'public/a.html',
      'public/a.php',
      'public/a.exe',
      'public/a',
      'public/a.constructor',
      'public/a.png',
    ]) {
      expect([path, (await upload({ path, content: script })).status]).toEqual([path, 415]);
    }
  });
  it('413: one byte over the limit, and not at it', async () => {
    const bytes = (length: number) => Buffer.concat([png, Buffer.alloc(length - png.length)]).toString('base64');
    expect((await upload({ path: 'public/limit.png', content: bytes(1024 * 1024) })).status).toBe(201);
    const over = await upload({ path: 'public/over.png', content: bytes(1024 * 1024 + 1) });
    expect([over.status, over.body.code]).toEqual([413, 'too_large']);
  });
  it('403: outside the media roots needs manage_studio; 422: over an entry or a dot directory', async () => {
    expect((await upload({ path: 'elsewhere/a.png', content: base64 }, weak)).status).toBe(403);
    expect((await upload({ path: 'public/b.png', content: base64 }, weak)).status).toBe(201);
    expect((await upload({ path: '.github/a.png', content: base64 })).body.code).toBe('invalid_name');
    expect((await upload({ path: 'public/../../a.png', content: base64 })).body.code).toBe('invalid_path');
  });
  it('400: a path with a control character; 422: one that ends with a space or a dot', async () => {
    for (const path of ['public/a\u0000.png', 'public/a\n.png', 'pub\u007flic/a.png'])
      expect((await upload({ path, content: base64 })).body).toMatchObject({ code: 'invalid_path' });
    for (const path of ['public/a.png ', 'public/a.png.', 'public/dir /a.png', 'public/NUL.png'])
      expect((await upload({ path, content: base64 })).body).toMatchObject({ code: 'invalid_name' });
  });
  it('400: no content, no path, not base64', async () => {
    expect((await upload({ path: 'public/c.png' })).body.message).toBe(
      'content: is required, or a multipart body with files',
    );
    expect((await upload({ content: base64 })).body.message).toBe('path: is required');
    expect((await upload({ path: 'public/c.png', content: '%%%' })).body.message).toBe('content: must be base64');
  });
});

describe('upload as multipart', () => {
  it('201: several files are one commit', async () => {
    const answer = await multipart([
      ['path', 'public/many'],
      ['message', 'Two at once'],
      ['file', { name: 'one.png', content: png }],
      ['file', { name: 'two.png', content: Buffer.concat([png, png]) }],
    ]);
    expect(answer.status).toBe(201);
    expect(answer.body.map((file: { path: string }) => file.path)).toEqual([
      'public/many/one.png',
      'public/many/two.png',
    ]);
    expect(new Set(answer.body.map((file: { commit: { sha: string } }) => file.commit.sha)).size).toBe(1);
    expect(answer.body[0].commit.message).toBe('Two at once');
  });
  it('400: a field given twice, a file under another name, a broken body', async () => {
    const twice = await multipart([
      ['path', 'public/late'],
      ['file', { name: 'late.png', content: png }],
      ['path', 'public/later'],
    ]);
    expect([twice.status, twice.body.message]).toEqual([400, 'path: is given twice']);
    const wrong = await multipart([['photo', { name: 'a.png', content: png }]]);
    expect([wrong.status, wrong.body.message]).toEqual([400, 'photo: is not a file field; send files as "file"']);
    const cut = await app.ask('POST', `${studio}/media`, {
      body: '--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\nabc',
      headers: { 'Content-Type': 'multipart/form-data; boundary=x' },
    });
    expect(cut.status).toBe(400);
  });
  it.each([
    ['a field', ['', '']],
    ['a file', ['; filename="a.png"']],
    ['a field behind a file', ['; name="file"; filename="a.png"', '', '']],
  ])('400: %s without a name', async (_, parameters) => {
    const parts = parameters.map((more) => `--x\r\nContent-Disposition: form-data${more}\r\n\r\na\r\n`);
    const answer = await app.ask('POST', `${studio}/media`, {
      body: `${parts.join('')}--x--\r\n`,
      headers: { 'Content-Type': 'multipart/form-data; boundary=x' },
    });
    expect([answer.status, answer.body.message]).toEqual([400, 'body: has a part without a name']);
  });
  it.each(['', ';', '; boundary', '; boundary=', '; boundary=""', `; boundary=${'x'.repeat(71)}`])(
    '400: no boundary that could be (%s)',
    async (parameters) => {
      const answer = await app.ask('POST', `${studio}/media`, {
        body: '--x\r\nContent-Disposition: form-data; name="path"\r\n\r\npublic\r\n--x--\r\n',
        headers: { 'Content-Type': `multipart/form-data${parameters}` },
      });
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    },
  );
  it.each([
    ['public/../..', 'a.png', 'path', 'invalid_path'],
    ['/etc', 'a.png', 'path', 'invalid_path'],
    ['public/.git', 'a.png', 'path', 'invalid_path'],
    ['public/.hidden', 'a.png', 'path', 'invalid_name'],
    ['public', '..', 'path', 'invalid_path'],
    ['public', '.gitattributes', 'path', 'invalid_name'],
    ['public', 'a.exe', 'path', 'unsupported_media'],
    ['public', 'none', 'path', 'unsupported_media'],
    ['public', 'a.jpg', 'file', 'unsupported_media'],
    ['public/img', 'USED.png', 'path', 'name_collision'],
    ['public/big.bin', 'a.png', 'path', 'not_editable'],
    ['public/img', 'used.png', 'path', 'already_exists'],
  ])('a refused file is reported with its field: %s with %s', async (path, name, field, code) => {
    const { body } = await multipart([
      ['path', path],
      ['file', { name, content: Buffer.concat([png, png, png]) }],
    ]);
    expect(body).toMatchObject({ code, details: { errors: [{ field: `/${field}`, code }] } });
    expect(body.message).toBe(`${field}: ${body.details.errors[0].message}`);
  });
  it('413: the 21st file; the whole request leaves nothing', async () => {
    const files = Array.from({ length: 21 }, (_, at): [string, { name: string; content: Buffer }] => [
      'file',
      { name: `n${at}.png`, content: png },
    ]);
    expect((await multipart([['path', 'public/flood'], ...files])).status).toBe(413);
    expect((await app.ask('GET', `${studio}/media?path=public/flood`)).status).toBe(404);
    expect((await multipart([['path', 'public/flood'], ...files.slice(1)])).status).toBe(201);
  });
});

describe('delete', () => {
  it('409: entries name it, in frontmatter or body; force deletes it', async () => {
    const used = await app.ask('DELETE', `${studio}/media/public/img/used.png`);
    expect([used.status, used.body.code]).toEqual([409, 'in_use']);
    expect(used.body.details.references).toMatchObject([{ collection: 'posts', slug: 'a' }]);
    const inBody = await app.ask('DELETE', `${studio}/media/public/img/in%20body.png`);
    expect(inBody.body.details.references).toMatchObject([{ slug: 'b' }]);
    const forced = await app.ask('DELETE', `${studio}/media/public/img/used.png?force=true`);
    expect([forced.status, forced.body.deleted, forced.body.path]).toEqual([200, true, 'public/img/used.png']);
  });
  it('412, 404, 422', async () => {
    const stale = await app.ask('DELETE', `${studio}/media/public/b.png`, {
      headers: { 'If-Match': `"${'0'.repeat(40)}"` },
    });
    expect(stale.status).toBe(412);
    const any = await app.ask('DELETE', `${studio}/media/public/b.png`, { headers: { 'If-None-Match': '*' } });
    expectRefusal(any, 412, 'precondition_failed', /^If-None-Match: /);
    expect((await app.ask('DELETE', `${studio}/media/public/none.png`)).status).toBe(404);
    expect((await app.ask('DELETE', `${studio}/media/content/posts/a.md`)).body.code).toBe('not_editable');
    expect((await app.ask('DELETE', `${studio}/media/content/posts/a.md`, { token: weak })).status).toBe(403);
  });
});

it('leaves a repository that git finds sound', async () => {
  const git = (await app.repository()) as unknown as { gitDir: string };
  expect(execFileSync('git', ['-C', git.gitDir, 'fsck', '--strict', '--no-dangling'], { encoding: 'utf8' })).toBe('');
});

describe('references by alias', () => {
  const files = [
    'src/img/a.png',
    'src/img/b b.png',
    'src/shared/c.png',
    'static/img/100%.png',
    'src/img/e.png',
    'src/img/f.png',
    'src/img/g.png',
    'src/img/h.png',
    'src/img/i.png',
  ];
  const project = { url: '/api/v2/organizations/acme/projects/aliases/studio', name: 'aliases' };
  const remove = (path: string) =>
    app.ask('DELETE', `${project.url}/media/${path.split('/').map(encodeURIComponent).join('/')}`);

  beforeAll(async () => {
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { name: 'Aliases' } });
    await seed(
      app,
      {
        'studio.config.json': JSON.stringify({ media: [{ path: 'src' }, { path: 'static' }] }),
        'tsconfig.json':
          '{\n  // aliases\n  "compilerOptions": { "baseUrl": ".", "paths": { "#pics/*": ["./src/img/*"], "one": ["src/img/e.png"], "two": ["src/img/i.png"], "small/*": ["src/img/*.png"] } },\n}\n',
        'content/docs/jsconfig.json': '{ "compilerOptions": { "paths": { "shared/*": ["../../src/shared/*"] } } }',
        ...Object.fromEntries(files.map((path) => [path, png])),
        'content/posts/a.md': '---\ntitle: A\ncover: ~/img/a.png\n---\n![](@/img/b%20b.png)\n',
        'content/posts/b.md':
          '---\ntitle: B\ncover: "#pics/f.png"\n---\n<img src="one"> ![](small/h) no two words but not x@/img/gg.png\n',
        'content/docs/c.md': '---\ntitle: C\n---\n![](shared/c.png) ![](@site/static/img/100%.png)\n',
      },
      project.name,
    );
  });

  it.each([
    ['src/img/a.png', 'a'],
    ['src/img/b b.png', 'a'],
    ['src/img/f.png', 'b'],
    ['src/img/e.png', 'b'],
    ['src/img/h.png', 'b'],
    ['src/shared/c.png', 'c'],
    ['static/img/100%.png', 'c'],
  ])('protect %s from deletion', async (path, slug) => {
    const answer = await remove(path);
    expect(answer).toMatchObject({ status: 409, body: { code: 'in_use', details: { references: [{ slug }] } } });
  });

  it.each(['src/img/g.png', 'src/img/i.png'])('protect %s, which is not named, from nothing', async (path) => {
    expect((await remove(path)).status).toBe(200);
  });
});

describe('deleted files', () => {
  const list = async (query = '') => (await app.ask('GET', `${studio}/deleted-media${query}`)).body;
  const isOurs = ({ path }: { path: string }) => path.startsWith('public/gone/');
  const deleted = async () => (await list()).filter(isOurs);
  const bytesOf = (text: string) => Buffer.concat([png, Buffer.from(text)]).toString('base64');
  const remove = (path: string) => app.ask('DELETE', `${studio}/media/${path}`);

  it('are listed with what they held, newest first, until they are brought back', async () => {
    await upload({ path: 'public/gone/first.png', content: bytesOf('first') });
    await upload({ path: 'public/gone/second.png', content: bytesOf('second') });
    const { body } = await remove('public/gone/first.png');
    await remove('public/gone/second.png');
    const files = await deleted();
    expect(files.map(({ path }: { path: string }) => path)).toEqual([
      'public/gone/second.png',
      'public/gone/first.png',
    ]);
    expect(files[1]).toMatchObject({
      ...{ name: 'first.png', type: 'file', mime: 'image/png', width: 2, height: 3, public_path: '/gone/first.png' },
      commit: { sha: body.commit.sha, author: { name: expect.any(String) } },
    });
    expect(await list('?per_page=1&page=2')).toEqual([files[1]]);
    const last = await app.ask('GET', `${studio}/file?path=public/gone/first.png&ref=${files[1].commit.parents[0]}`);
    expect(last.body.sha).toBe(files[1].sha);
    const back = { path: 'public/gone/first.png', commit: body.commit.sha };
    expect((await app.ask('POST', `${studio}/revert`, { body: back })).status).toBe(201);
    expect((await deleted()).map(({ path }: { path: string }) => path)).toEqual(['public/gone/second.png']);
  });

  it('are none that only have another name, and no entries, hidden files or code', async () => {
    const before = await list();
    const content = bytesOf('renamed');
    await upload({ path: 'public/gone/old.png', content });
    const actions = [
      { op: 'upload_media', path: 'public/gone/new.png', content },
      { op: 'delete_media', path: 'public/gone/old.png' },
    ];
    await app.ask('POST', `${studio}/changes`, { body: { actions } });
    await app.ask('POST', `${studio}/collections/posts`, { body: { slug: 'gone', frontmatter: { title: 'Gone' } } });
    await app.ask('DELETE', `${studio}/collections/posts/gone`);
    expect(await list()).toEqual(before);
  });

  it('are none of an empty repository, and need browse_studio', async () => {
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { name: 'Empty', machine_name: 'empty' } });
    const empty = studio.replace('/site/', '/empty/');
    expect((await app.ask('GET', `${empty}/deleted-media`)).body).toEqual([]);
    const token = await app.makeToken(['browse_crawlers']);
    expect((await app.ask('GET', `${studio}/deleted-media`, { token })).status).toBe(403);
  });
});

describe('absurd files', () => {
  it('leaves out dimensions and sizes that no file has', async () => {
    const endless = '<svg xmlns="http://www.w3.org/2000/svg" width="1e308" height="1e308"></svg>';
    const pixels = Buffer.alloc(24);
    png.copy(pixels, 0, 0, 16);
    pixels.fill(0xff, 16);
    await seed(app, {
      'public/absurd/a.png': Buffer.concat([pixels, Buffer.alloc(64)]),
      'public/absurd/b.svg': endless,
      'public/absurd/c.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="5000000000" height="1"></svg>',
      'public/absurd/d.bin': pointer.replace('123456', '9'.repeat(40)),
    });
    const files = await list('?path=public/absurd');
    expect(files).toHaveLength(4);
    for (const file of files) for (const name of ['width', 'height', 'lfs']) expect(file).not.toHaveProperty(name);
    const file = await app.ask('GET', `${studio}/file?path=public/absurd/d.bin`);
    expect(file.status).toBe(200);
    const content = Buffer.from(endless).toString('base64');
    expect((await upload({ path: 'public/absurd/e.svg', content })).status).toBe(201);
  });
});
