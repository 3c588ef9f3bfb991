import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { Pace } from '../../src/lib/concurrency.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { client } from '../support/git-client.ts';
import { git } from '../support/git-store.ts';
import fc from '../support/properties.ts';

const app = shared(() => startTestApp({ PORTICO_MEDIA_LIMIT: '1' }));
let home: string;
let clone: string;
let main: string;
let editor: string;
let count = 0;

beforeAll(async () => {
  await seed(app, {
    'content/posts/a.md': '---\ntitle: A\n---\n\nText\n',
    'content/posts/b.md': '---\ntitle: B\n---\n\nText\n',
    'public/pic.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'src/assets/photo.png': '\u0089PNG',
    'content/posts/bundle/index.md': '---\ntitle: Bundle\n---\n',
    'content/posts/bundle/more.md': '---\ntitle: More\n---\n',
    'content/posts/coded/index.md': '---\ntitle: Coded\n---\n',
    'content/posts/coded/widget.js': 'run()\n',
    'package.json': '{}',
  });
  home = mkdtempSync(path.join(tmpdir(), 'portico-admission-'));
  editor = await app.makeToken(['browse_studio', 'edit_studio']);
  const url = `${app.url.replace('//', `//x:${editor}@`)}/git/acme/site.git`;
  await client(home, 'clone', '-q', url, 'clone');
  clone = path.join(home, 'clone');
  main = git(clone, ['rev-parse', 'HEAD']);
});
afterAll(async () => {
  if (home) rmSync(home, { recursive: true, force: true });
});

/** A commit on main with one more file, made without a working tree: any name git itself stores. */
function commitWith(file: string | Buffer, content: Buffer, mode = '100644'): string {
  const ref = `refs/scratch/${count++}`;
  const quoted = (name: string) => Buffer.from(`"${name.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`);
  const stream = Buffer.concat([
    Buffer.from(`commit ${ref}\ncommitter C <c@example.org> 1700000000 +0000\ndata 1\nx\nfrom ${main}\n`),
    Buffer.from(`M ${mode} inline `),
    typeof file === 'string' ? quoted(file) : file,
    Buffer.from(`\ndata ${content.length}\n`),
    content,
    Buffer.from('\n'),
  ]);
  execFileSync('git', ['fast-import', '--quiet'], { cwd: clone, input: stream, stdio: ['pipe', 'pipe', 'ignore'] });
  return git(clone, ['rev-parse', ref]);
}

/** What the client is shown when a commit is pushed to a new branch; null when it came in. */
async function refusalOfPush(oid: string, ref = `refs/heads/case-${count++}`): Promise<string | null> {
  return client(clone, 'push', '-q', 'origin', `${oid}:${ref}`).then(
    () => null,
    ({ stderr }: { stderr: string }) => stderr.replace(/\s*\nremote: */g, ' '),
  );
}

/** Whether one of the endpoints takes the file from somebody with edit_studio alone. */
async function isTakenByRest(file: string, content: Buffer): Promise<boolean> {
  const branch = `rest-${count++}`;
  expect((await app.ask('POST', `${studio}/branches`, { body: { name: branch } })).status).toBe(201);
  const media = await app.ask('POST', `${studio}/media`, {
    token: editor,
    body: { branch, path: file, content: content.toString('base64') },
  });
  const entry = await app.ask('POST', `${studio}/collections/posts`, {
    token: editor,
    body: { branch, slug: `x${count}`, path: file, frontmatter: { title: 'X' }, body: 'Text\n' },
  });
  return media.status === 201 || entry.status === 201;
}

const fitting: Record<string, string> = { '.png': 'png', '.PNG': 'png', '.svg': 'svg', '.zip': 'zip' };
const contents: Record<string, Buffer> = {
  png: Buffer.from('89504e470d0a1a0a0000', 'hex'),
  svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  text: Buffer.from('---\ntitle: A\n---\nText\n'),
  zip: Buffer.from('504b030414000000', 'hex'),
};

describe('a file pushed with edit_studio alone', () => {
  it('comes in exactly when an endpoint takes it', async () => {
    const directory = fc.constantFrom(
      ...['content/posts', 'content/posts', 'content/posts', 'public', 'public', 'src/assets'],
      'content/posts',
      'content/posts/deep',
      'content',
      'public',
      'public/img',
      'public/.well-known',
      'public/node_modules',
      'src/assets',
      'src',
      'static',
      '.github',
    );
    const stem = fc.constantFrom(
      'x',
      'pic',
      '_headers',
      '.htaccess',
      'con',
      'a b',
      'é',
      'index',
      '_worker',
      '.gitkeep',
    );
    const extension = fc.constantFrom(
      ...['.md', '.md', '.png', '.png', '.svg'],
      '',
      '.md',
      '.mdx',
      '.js',
      '.ts',
      '.html',
      '.png',
      '.PNG',
      '.svg',
      '.txt',
      '.zip',
      '.json',
      '.yml',
      '.constructor',
    );
    const file = fc.tuple(directory, stem, extension).map(([where, name, end]) => `${where}/${name}${end}`);
    const taken = new Map<boolean, number>();
    await fc.assert(
      fc.asyncProperty(file, fc.constantFrom('fitting', 'fitting', ...Object.keys(contents)), async (name, kind) => {
        const content = contents[kind] ?? contents[fitting[path.extname(name)] ?? 'text'] ?? Buffer.alloc(0);
        const rest = await isTakenByRest(name, content);
        const refused = await refusalOfPush(commitWith(name, content));
        expect({ name, kind, isTaken: refused === null, refused }).toEqual({ name, kind, isTaken: rest, refused });
        taken.set(rest, (taken.get(rest) ?? 0) + 1);
      }),
      { numRuns: 40 },
    );
    expect(Math.min(taken.get(true) ?? 0, taken.get(false) ?? 0)).toBeGreaterThan(2);
  });

  it.each([
    ['public/sw.js', 'text', /public\/sw\.js has the extension \.js and cannot be uploaded/],
    ['public/_worker.js', 'text', /_worker\.js has the extension \.js and cannot be uploaded/],
    ['public/_headers', 'text', /_headers has no extension and cannot be uploaded/],
    ['public/.htaccess', 'text', /\.htaccess must not contain a name that begins with a dot/],
    ['public/index.html', 'text', /index\.html has the extension \.html and cannot be uploaded/],
    ['src/assets/x.ts', 'text', /x\.ts has the extension \.ts and cannot be uploaded/],
    ['public/code.png', 'text', /code\.png is not a file of type image\/png, as its name says/],
    ['public/con.png', 'png', /con\.png must not contain the Windows device name/],
    ['content/posts/.gitattributes', 'text', /\.gitattributes is outside/],
    [Buffer.from('public/\xe9.png', 'latin1'), 'png', /must be valid UTF-8/],
    [Buffer.from('content/posts/\xe9.md', 'latin1'), 'text', /must be valid UTF-8/],
    ['public/e\u0301.png', 'png', /must be in Unicode's composed form \(NFC\)/],
    ['content/posts/e\u0301.md', 'text', /must be in Unicode's composed form \(NFC\)/],
  ])('is refused as %s', async (name, kind, reason) => {
    const refused = await refusalOfPush(commitWith(name, contents[kind] ?? Buffer.alloc(0)));
    expect(refused).toMatch(reason);
    expect(refused).toContain('which needs the permission manage_studio');
  });

  it('is refused when it is larger than an endpoint takes, on both sides of the limit', async () => {
    const entry = (size: number) =>
      Buffer.concat([contents.text ?? Buffer.alloc(0), Buffer.alloc(size, 'a')]).subarray(0, size);
    const limit = 5 * 1024 * 1024;
    expect(await refusalOfPush(commitWith('content/posts/large.md', entry(limit)))).toBeNull();
    expect(await refusalOfPush(commitWith('content/posts/large.md', entry(limit + 1)))).toMatch(
      /content\/posts\/large\.md must be at most 5242880 bytes, as every entry/,
    );
    const image = (size: number) =>
      Buffer.concat([contents.png ?? Buffer.alloc(0), Buffer.alloc(size)]).subarray(0, size);
    const most = 1024 * 1024;
    expect(await refusalOfPush(commitWith('public/large.png', image(most)))).toBeNull();
    expect(await refusalOfPush(commitWith('public/large.png', image(most + 1)))).toMatch(
      /must be at most 1048576 bytes/,
    );
  });

  it('is refused when it is to run, or is a link', async () => {
    const text = contents.text ?? Buffer.alloc(0);
    expect(await refusalOfPush(commitWith('content/posts/run.md', text, '100755'))).toMatch(/gets another mode/);
    expect(await refusalOfPush(commitWith('content/posts/run.md', text, '120000'))).toMatch(/is a link/);
    expect(await refusalOfPush(commitWith('content/posts/a.md', text))).toBeNull();
  });
});

describe('a message', () => {
  const commitOf = (message: string, parent = main) =>
    git(clone, ['commit-tree', `${main}^{tree}`, '-p', parent], message);
  const byRest = async (message: string) =>
    (
      await app.ask('POST', `${studio}/collections/posts`, {
        token: editor,
        body: { slug: `message-${count++}`, frontmatter: { title: 'X' }, message },
      })
    ).status;

  it.each([
    ['letters', 'a'],
    ['characters of three bytes', '\u20ac'],
  ])('of %s comes in by a push up to the length an endpoint takes', async (_, character) => {
    const most = character.repeat(65_536);
    expect(await byRest(most)).toBe(201);
    expect(await refusalOfPush(commitOf(`${most}\n`))).toBeNull();
    expect(await byRest(`${most}a`)).toBe(400);
    const long = commitOf(`${most}a\n`);
    const reason = `the message of commit ${long} is longer than 65536 characters; shorten it`;
    expect(await refusalOfPush(long)).toContain(reason);
    expect(await refusalOfPush(commitOf('Short', long))).toContain(reason);
  });

  it('of an annotated tag has the same limit, also below another tag', async () => {
    const tagged = (name: string, message: string, on = main) => {
      git(clone, ['tag', '-f', '-a', '-F', '-', name, on], message);
      return `refs/tags/${name}`;
    };
    const most = 'a'.repeat(65_536);
    const ref = tagged('most', most);
    expect(await refusalOfPush(ref, ref)).toBeNull();
    const long = tagged('long', `${most}a`);
    expect(await refusalOfPush(long, long)).toContain(
      'the message of tag long is longer than 65536 characters; shorten it',
    );
    const outer = tagged('outer', 'Short', 'long');
    expect(await refusalOfPush(outer, outer)).toMatch(
      /the message of tag [0-9a-f]{40} is longer than 65536 characters/,
    );
  });

  it('is not read at all when the commit is far larger', async () => {
    expect(await refusalOfPush(commitOf('a'.repeat(600_000)))).toMatch(/commit case-\d+ is larger than 512 KiB/);
  });
});

describe('a name that differs from another only in case', () => {
  it.each([
    ['content/posts/A.md', 'content/posts/a.md'],
    ['content/Posts/new.md', 'content/posts'],
    ['public/PIC.svg', 'public/pic.svg'],
  ])('is refused as %s beside %s by pushes with edit_studio as by the endpoints', async (name, other) => {
    const content = contents[name.endsWith('.svg') ? 'svg' : 'text'] ?? Buffer.alloc(0);
    expect(await isTakenByRest(name, content)).toBe(false);
    expect(await refusalOfPush(commitWith(name, content))).toMatch(
      name.includes('Posts')
        ? /which needs the permission manage_studio/
        : new RegExp(
            `${name} differs from ${other} only in case or normalisation, which needs the permission manage_studio`,
          ),
    );
  });

  it('comes in when the other is gone with the same push', async () => {
    const ref = 'refs/scratch/case';
    git(
      clone,
      ['fast-import', '--quiet'],
      [
        `commit ${ref}\ncommitter C <c@example.org> 1700000000 +0000\ndata 1\nx\nfrom ${main}\n`,
        'D content/posts/b.md\nM 100644 inline content/posts/B.md\ndata 18\n---\ntitle: B\n---\n\n\n',
      ].join(''),
    );
    const deleter = await app.makeToken(['browse_studio', 'edit_studio', 'delete_studio']);
    const url = `${app.url.replace('//', `//x:${deleter}@`)}/git/acme/site.git`;
    await client(clone, 'push', '-q', url, `${git(clone, ['rev-parse', ref])}:refs/heads/case-changed`);
  });
});

describe('hundreds of new entries', () => {
  it('are judged one after the other, others being served between any two', async () => {
    const count = 300;
    const file = (n: number) => `M 100644 inline content/posts/many${n}.md\ndata 18\n---\ntitle: M\n---\n\n\n`;
    const ref = 'refs/scratch/many';
    const commit = `commit ${ref}\ncommitter C <c@example.org> 1700000000 +0000\ndata 1\nx\nfrom ${main}\n`;
    git(clone, ['fast-import', '--quiet'], commit + Array.from({ length: count }, (_, n) => file(n)).join(''));
    const oid = git(clone, ['rev-parse', ref]);
    let yields = 0;
    const spies = [
      vi.spyOn(Pace.prototype, 'isDue', 'get').mockReturnValue(true),
      vi.spyOn(Pace.prototype, 'yield').mockImplementation(async () => {
        if (/git-access\.operations/.test(new Error('by').stack ?? '')) yields += 1;
      }),
    ];
    try {
      expect(await refusalOfPush(oid)).toBeNull();
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
    // Before each is looked at, and when its size is there.
    expect(yields).toBeGreaterThanOrEqual(2 * count);
  });
});

describe('a renamed bundle', () => {
  const rename = (slug: string, token: string) =>
    app.ask('PUT', `${studio}/collections/posts/${slug}`, { token, body: { slug: `${slug}-new` } });

  it('moves code only with manage_studio, by an endpoint as by a push', async () => {
    const refused = await rename('coded', editor);
    expect(refused.status).toBe(403);
    expect(refused.body.message).toBe(
      'slug: content/posts/coded/widget.js would move along, and content/posts/coded-new/widget.js is outside collections and media; that needs the permission manage_studio',
    );
    expect(await refusalOfPush(commitWith('content/posts/coded-new/widget.js', Buffer.from('run()\n')))).toMatch(
      /widget\.js is outside collections and media, which needs the permission manage_studio/,
    );
    expect((await rename('bundle', editor)).status).toBe(200);
    const manager = await app.makeToken(['browse_studio', 'edit_studio', 'manage_studio']);
    expect((await rename('coded', manager)).status).toBe(200);
  });
});

describe('the first commit of an empty repository, with edit_studio alone', () => {
  /** The first push to a new project; null when it came in. */
  async function firstPush(files: Record<string, string>): Promise<string | null> {
    const project = `empty-${count++}`;
    await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
    const ref = `refs/scratch/${project}`;
    const changes = Object.entries(files).map(
      ([path, text]) => `M 100644 inline ${path}\ndata ${text.length}\n${text}\n`,
    );
    const head = `commit ${ref}\ncommitter C <c@example.org> 1700000000 +0000\ndata 1\nx\n`;
    git(clone, ['fast-import', '--quiet'], head + changes.join(''));
    const url = `${app.url.replace('//', `//x:${editor}@`)}/git/acme/${project}.git`;
    return client(clone, 'push', '-q', url, `${git(clone, ['rev-parse', ref])}:refs/heads/main`).then(
      () => null,
      ({ stderr }: { stderr: string }) => stderr,
    );
  }
  const text = '---\ntitle: A\n---\n';

  it('may found collections by a push as by the endpoint', async () => {
    const project = `empty-${count++}`;
    await app.run(createProject, { organization: 'acme', name: project, machine_name: project });
    const entries = `${acme}/projects/${project}/studio/collections/posts`;
    const first = await app.ask('POST', entries, { token: editor, body: { slug: 'a', frontmatter: { title: 'A' } } });
    expect(first.status).toBe(201);
    expect(first.body.path).toBe('content/posts/a.md');
    expect(await firstPush({ 'content/posts/a.md': text })).toBeNull();
    expect(await firstPush({ 'content/posts/a.md': text, 'content/pages/b.md': text })).toBeNull();
  });

  it.each(['src/x.ts', 'package.json', 'content/posts/x.js', 'content/.hidden/x.md', 'README.md', 'content/a.md'])(
    'brings no %s',
    async (path) => {
      const refused = await firstPush({ 'content/posts/a.md': text, [path]: text });
      expect(refused).toContain(`${path} is outside collections and media`);
    },
  );
});

describe('a tag pushed with edit_studio alone', () => {
  const annotated = (target: string, type: string, name: string) =>
    git(
      clone,
      ['mktag'],
      `object ${target}\ntype ${type}\ntag ${name}\ntagger C <c@example.org> 1700000000 +0000\n\nTag\n`,
    );

  it('comes in when its commit is admitted, also through several tags', async () => {
    const good = commitWith('content/posts/tagged.md', contents.text ?? Buffer.alloc(0));
    expect(await refusalOfPush(good, 'refs/tags/light')).toBeNull();
    const twice = annotated(annotated(good, 'commit', 'inner'), 'tag', 'outer');
    expect(await refusalOfPush(twice, 'refs/tags/outer')).toBeNull();
  });

  it('is refused when its commit is not admitted, also through several tags', async () => {
    const bad = commitWith('public/sw.js', contents.text ?? Buffer.alloc(0));
    const twice = annotated(annotated(bad, 'commit', 'inner'), 'tag', 'outer');
    expect(await refusalOfPush(bad, 'refs/tags/bad')).toMatch(/public\/sw\.js .*manage_studio/);
    expect(await refusalOfPush(twice, 'refs/tags/bad')).toMatch(/public\/sw\.js .*manage_studio/);
  });

  it('is refused when it leads to a file or a directory', async () => {
    const blob = git(clone, ['hash-object', '-w', '--stdin'], 'code');
    const tree = git(clone, ['rev-parse', `${commitWith('public/sw.js', Buffer.from('x'))}^{tree}`]);
    expect(await refusalOfPush(blob, 'refs/tags/blob')).toMatch(/blob must lead to a commit/);
    expect(await refusalOfPush(tree, 'refs/tags/tree')).toMatch(/tree must lead to a commit/);
    expect(await refusalOfPush(annotated(tree, 'tree', 'deep'), 'refs/tags/deep')).toMatch(/must lead to a commit/);
  });
});

describe('the name of a branch or tag', () => {
  it.each([
    '-x',
    'HEAD',
    '@',
    'refs/heads/x',
    'a\u202eb',
    'a\u2066b',
    'a\u200bb',
    '0123456789012345678901234567890123456789',
    'MAIN',
    'main/below',
  ])('%j is refused by pushes and by the endpoint alike', async (name) => {
    const { status, body } = await app.ask('POST', `${studio}/branches`, { token: editor, body: { name } });
    expect([409, 422]).toContain(status);
    const said = body.message.replace(/^name: /, '');
    const refused = await refusalOfPush(main, `refs/heads/${name}`);
    // git itself refuses a branch where another has a directory, before or after we do.
    expect(refused).toContain(name === 'main/below' ? 'main/below' : said);
    if (!/main/i.test(name)) expect(await refusalOfPush(main, `refs/tags/${name}`)).toContain(said);
  });

  it('is taken by both when nothing is wrong with it', async () => {
    for (const name of ['feature/x', 'été', 'a@b', 'v1.0', '日本語']) {
      const { status } = await app.ask('POST', `${studio}/branches`, { token: editor, body: { name } });
      expect([name, status]).toEqual([name, 201]);
      expect(await refusalOfPush(main, `refs/heads/pushed/${name}`)).toBeNull();
      expect(await refusalOfPush(main, `refs/tags/${name}`)).toBeNull();
    }
  });

  it('must differ from those beside it by more than case, also within one push', async () => {
    const twins = [`${main}:refs/heads/Twin`, `${main}:refs/heads/twin`];
    await expect(client(clone, 'push', '-q', 'origin', ...twins)).rejects.toThrow(/differs from .win only in case/);
  });
});

describe('names of many segments', () => {
  /** Pushes branches in so many directories each. */
  const push = (branches: number, directories: number) => {
    const below = 'a/'.repeat(directories - 1);
    const refs = Array.from({ length: branches }, (_, at) => `${main}:refs/heads/n${at}/${below}z`);
    return client(clone, 'push', '-q', 'origin', ...refs).then(
      () => null,
      ({ stderr }: { stderr: string }) => stderr.replace(/\s*\nremote: */g, ' '),
    );
  };
  const deep = async () => (await app.ask('GET', `${studio}/branches?q=/z`)).body.length;

  it('are refused before they are walked', async () => {
    expect(await push(1, 32)).toContain('must be at most 32 segments deep');
    expect(await push(1, 400)).toContain('must be at most 32 segments deep');
  });

  it('may need ten thousand directories in one push', async () => {
    expect(await push(323, 31)).toContain('one push may make refs in 10000 directories; push fewer at a time');
    expect(await deep()).toBe(0);
    expect(await push(400, 25)).toBeNull();
    expect(await deep()).toBeGreaterThan(1);
  });
});
