import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Permission } from '../../src/kernel/actor.ts';
import { acme, metricsToken, seed, shared, startTestApp, studio } from '../support/app.ts';

const run = promisify(execFile);
const app = shared(startTestApp);
let home: string;
let count = 0;

beforeAll(async () => {
  await seed(app, {
    'content/posts/a.md': '---\ntitle: A\n---\n\nText\n',
    'content/posts/b.md': '---\ntitle: B\n---\n\nText\n',
    'public/pic.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'package.json': '{}',
  });
  home = mkdtempSync(path.join(tmpdir(), 'portico-push-'));
});
afterAll(async () => {
  if (home) rmSync(home, { recursive: true, force: true });
});

const env = () => ({
  PATH: process.env.PATH,
  HOME: home,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Client',
  GIT_AUTHOR_EMAIL: 'client@example.org',
  GIT_COMMITTER_NAME: 'Client',
  GIT_COMMITTER_EMAIL: 'client@example.org',
});

async function git(cwd: string, ...args: string[]) {
  return run('git', args, { cwd, env: env() }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code: code as number, stdout: stdout as string, stderr: stderr as string }),
  );
}

/** A clone for somebody with these permissions, beside browse and edit. */
async function cloneFor(...more: Permission[]): Promise<string> {
  const token = await app.makeToken(['browse_studio', 'edit_studio', ...more]);
  const directory = path.join(home, `clone-${count++}`);
  const { code, stderr } = await git(
    home,
    'clone',
    '-q',
    `${app.url.replace('//', `//x:${token}@`)}/git/acme/site.git`,
    directory,
  );
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return directory;
}

async function commit(directory: string, files: Record<string, string | null>): Promise<void> {
  for (const [file, content] of Object.entries(files)) {
    if (content === null) await git(directory, 'rm', '-q', file);
    else {
      mkdirSync(path.dirname(path.join(directory, file)), { recursive: true });
      writeFileSync(path.join(directory, file), content);
    }
  }
  await git(directory, 'add', '-A');
  await git(directory, 'commit', '-q', '-m', 'Change');
}

const push = (directory: string, ...args: string[]) =>
  git(directory, 'push', ...(args.length > 0 ? args : ['origin', 'HEAD']));
const post = (title: string) => `---\ntitle: ${title}\n---\n\nText\n`;

describe('edit_studio alone', () => {
  it('brings entries and media', async () => {
    const directory = await cloneFor();
    await commit(directory, { 'content/posts/new.md': post('New'), 'public/new.svg': '<svg/>' });
    expect((await push(directory)).code).toBe(0);
    expect((await app.ask('GET', `${studio}/collections/posts/new`)).status).toBe(200);
  });

  it.each([
    [
      'a file outside collections and media',
      { 'src/code.js': 'x' },
      /src\/code\.js is outside collections and media.*manage_studio/,
    ],
    ['a changed config', { 'package.json': '{"x":1}' }, /package\.json is outside/],
    ['attributes inside a collection', { 'content/posts/.gitattributes': '* filter=x' }, /\.gitattributes is outside/],
    ['a deleted entry', { 'content/posts/b.md': null }, /content\/posts\/b\.md is deleted.*delete_studio/],
    ['deleted media', { 'public/pic.svg': null }, /public\/pic\.svg is deleted.*delete_studio/],
  ])('is not enough for %s, and the client gets the reason', async (_what, files, reason) => {
    const directory = await cloneFor();
    await commit(directory, files as Record<string, string | null>);
    const { code, stderr } = await push(directory);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^remote: /m);
    expect(stderr.replace(/\s*\nremote: */g, ' ')).toMatch(reason);
  });

  describe('and objects that other hosts refuse', () => {
    /** The tip of a clone with a commit on it that is written as a literal, by default a good one. */
    async function literal(
      directory: string,
      { author = 'A <a@x> 1 +0000', committer = 'C <c@x> 1 +0000', mode = '40000' },
    ) {
      const text = async (...args: string[]) => (await git(directory, ...args)).stdout.trim();
      const write = (type: string, content: Buffer) => {
        writeFileSync(path.join(home, 'object'), content);
        return text('hash-object', '-w', '-t', type, '--literally', path.join(home, 'object'));
      };
      const { stdout } = await run('git', ['cat-file', 'tree', 'HEAD^{tree}'], {
        cwd: directory,
        env: env(),
        encoding: 'latin1',
      });
      const tree = await write('tree', Buffer.from(stdout.replace(/40000 content\0/, `${mode} content\0`), 'latin1'));
      const parent = await text('rev-parse', 'HEAD');
      const lines = `tree ${tree}\nparent ${parent}\nauthor ${author}\ncommitter ${committer}\n\nx\n`;
      return write('commit', Buffer.from(lines));
    }
    const checkedClone = (token: string) =>
      git(
        home,
        ...['-c', 'transfer.fsckObjects=true', 'clone', '-q', '--bare'],
        `${app.url.replace('//', `//x:${token}@`)}/git/acme/site.git`,
        path.join(home, `checked-${count++}`),
      );

    it.each([
      ['zeroPaddedDate', { author: 'A <a@x> 01 +0000' }],
      ['badTimezone', { committer: 'C <c@x> 1 +99999' }],
      ['missingNameBeforeEmail', { author: '<a@x> 1 +0000' }],
      ['missingSpaceBeforeEmail', { author: 'A<a@x> 1 +0000' }],
      ['missingSpaceBeforeDate', { author: 'A <a@x>1 +0000' }],
      ['multipleAuthors', { author: 'A <a@x> 1 +0000\nauthor B <b@x> 1 +0000' }],
      ['zeroPaddedFilemode', { mode: '040000' }],
    ])('brings none with %s, whatever it is pushed to', async (fault, faulty) => {
      const directory = await cloneFor();
      const commit = await literal(directory, faulty);
      await git(directory, 'tag', '-f', 'faulty', commit);
      for (const ref of ['refs/heads/main', 'refs/heads/faulty', 'refs/tags/faulty']) {
        const { code, stderr } = await push(directory, 'origin', `${commit}:${ref}`);
        expect(code).not.toBe(0);
        expect(stderr.replace(/\s*\nremote: */g, ' ')).toMatch(
          new RegExp(`object [0-9a-f]{40} is malformed \\(${fault}: .*manage_studio`),
        );
      }
      expect(await checkedClone(await app.makeToken(['browse_studio']))).toMatchObject({ code: 0, stderr: '' });
    });

    it('builds on those that a manager has brought, and tags them', async () => {
      const owner = await cloneFor('manage_studio');
      const old = await literal(owner, { author: 'A <a@x> 01 +0000', mode: '040000' });
      expect((await push(owner, 'origin', `${old}:refs/heads/old`)).code).toBe(0);
      const directory = await cloneFor();
      await git(directory, 'checkout', '-q', 'old');
      await commit(directory, { 'content/posts/onold.md': post('On old') });
      expect((await push(directory, 'origin', 'old', 'old:refs/heads/older')).code).toBe(0);
      await git(directory, 'tag', 'v-old', old);
      expect((await push(directory, 'origin', 'v-old')).code).toBe(0);
    });
  });

  it('is not enough to change code by a merge in which git takes it for renamed media', async () => {
    const code = `one()\n${'same()\n'.repeat(20)}`;
    await seed(app, { 'src/likened.js': code });
    const directory = await cloneFor('delete_studio');
    await git(directory, 'checkout', '-q', '--orphan', 'before');
    await git(directory, 'rm', '-rfq', '.');
    await commit(directory, { 'public/likened.txt': code });
    await git(directory, 'checkout', '-q', 'main');
    await git(directory, 'merge', '-q', '--allow-unrelated-histories', '-m', 'Merge', 'before');
    await commit(directory, { 'public/likened.txt': null });
    expect((await push(directory, 'origin', 'main', 'before')).stderr).not.toMatch(/rejected/);
    await git(directory, 'checkout', '-q', 'before');
    await commit(directory, { 'public/likened.txt': code.replace('one', 'evil') });
    await git(directory, 'checkout', '-q', 'main');
    expect((await git(directory, 'merge', '-q', '-m', 'Merge', 'before')).code).toBe(0);
    expect((await git(directory, 'show', 'HEAD:src/likened.js')).stdout).toMatch(/^evil/);
    const { code: refused, stderr } = await push(directory, 'origin', 'main');
    expect(refused).not.toBe(0);
    expect(stderr.replace(/\s*\nremote: */g, ' ')).toMatch(
      /src\/likened\.js is outside collections and media.*manage_studio/,
    );
  });

  it('is not enough for that where both sides have the code, as after a squashed merge', async () => {
    const code = `one()\n${'twice()\n'.repeat(20)}`;
    const owner = await cloneFor('delete_studio', 'manage_studio');
    await commit(owner, { 'public/twice.txt': code });
    await git(owner, 'branch', 'squashed');
    await commit(owner, { 'public/twice.txt': null, 'src/twice.js': code });
    await git(owner, 'checkout', '-q', 'squashed');
    await commit(owner, { 'src/twice.js': code });
    expect((await push(owner, 'origin', 'main', 'squashed')).code).toBe(0);
    const directory = await cloneFor('delete_studio');
    await git(directory, 'checkout', '-q', 'squashed');
    await commit(directory, { 'public/twice.txt': code.replace('one', 'evil') });
    await git(directory, 'checkout', '-q', 'main');
    expect((await git(directory, 'merge', '-q', '-m', 'Merge', 'squashed')).code).toBe(0);
    // What git made of the file that both sides have alike.
    expect((await git(directory, 'show', 'HEAD:src/twice.js')).stdout).toMatch(/^evil/);
    const refused = await push(directory, 'origin', 'main');
    expect(refused.stderr.replace(/\s*\nremote: */g, ' ')).toMatch(
      /src\/twice\.js is outside collections and media.*manage_studio/,
    );
  });

  it('merges changes of an entry into its new name', async () => {
    const directory = await cloneFor('delete_studio');
    const text = `${post('Moved')}${'Line\n'.repeat(20)}`;
    await commit(directory, { 'content/posts/moved-a.md': text });
    await git(directory, 'checkout', '-qb', 'edits');
    await commit(directory, { 'content/posts/moved-a.md': text.replace('Text', 'Changed') });
    await git(directory, 'checkout', '-q', 'main');
    await commit(directory, { 'content/posts/moved-a.md': null, 'content/posts/moved-b.md': text });
    expect((await git(directory, 'merge', '-q', '-m', 'Merge', 'edits')).code).toBe(0);
    expect((await git(directory, 'show', 'HEAD:content/posts/moved-b.md')).stdout).toMatch(/Changed/);
    expect((await push(directory, 'origin', 'main')).code).toBe(0);
  });

  it('is not enough for a link, or for code that a later commit of the same push takes back', async () => {
    const linked = await cloneFor();
    mkdirSync(path.join(linked, 'content/posts'), { recursive: true });
    symlinkSync('/etc/passwd', path.join(linked, 'content/posts/link.md'));
    await commit(linked, {});
    expect((await push(linked)).code).not.toBe(0);
    const hidden = await cloneFor();
    await commit(hidden, { 'src/evil.js': 'x' });
    await commit(hidden, { 'src/evil.js': null });
    expect((await push(hidden)).stderr).toMatch(/src\/evil\.js is outside/);
  });

  it('neither rewrites nor deletes a branch', async () => {
    const directory = await cloneFor();
    await push(directory, 'origin', 'HEAD:doomed');
    expect((await push(directory, 'origin', ':doomed')).stderr).toMatch(
      /deleting doomed needs the permission delete_studio/,
    );
    await git(directory, 'commit', '-q', '--amend', '-m', 'Rewritten');
    expect((await push(directory, '--force', 'origin', 'HEAD:main')).stderr).toMatch(
      /rewriting main needs the permission manage_studio/,
    );
  });
});

describe('with the further permission', () => {
  it('entries and branches are deleted, code comes in, a branch is rewritten', async () => {
    const deleter = await cloneFor('delete_studio');
    await commit(deleter, { 'content/posts/b.md': null });
    expect((await push(deleter)).code).toBe(0);
    await push(deleter, 'origin', 'HEAD:side');
    expect((await push(deleter, 'origin', ':side')).code).toBe(0);
    const manager = await cloneFor('manage_studio');
    await commit(manager, { 'src/code.js': 'x' });
    expect((await push(manager)).code).toBe(0);
    await push(manager, 'origin', 'HEAD:mine');
    await git(manager, 'commit', '-q', '--amend', '-m', 'Again');
    expect((await push(manager, '--force', 'origin', 'HEAD:mine')).code).toBe(0);
  });

  it('leaves one audit row that names what moved', async () => {
    const rows = (await app.ask('GET', `${acme}/audit?action=studio.pushRepository`)).body;
    expect(rows[0]).toMatchObject({ outcome: 'ok', subject_type: 'repository' });
    expect(rows[0].subject_id).toMatch(/^site refs\/heads\/mine=[0-9a-f]{40}$/);
  });
});

describe('the audit row of a push', () => {
  type Row = { outcome: string; subject_id: string };
  /** The rows that were written since, oldest first. */
  async function rowsSince(act: () => Promise<unknown>): Promise<Row[]> {
    const list = async (): Promise<Row[]> =>
      (await app.ask('GET', `${acme}/audit?action=studio.pushRepository&per_page=100`)).body;
    const before = (await list()).length;
    await act();
    return (await list()).reverse().slice(before);
  }
  const oid = '[0-9a-f]{40}';

  it('reports denied, with the commands, for a push our rules refuse', async () => {
    const directory = await cloneFor();
    await commit(directory, { 'src/denied.js': 'x' });
    const [row, ...more] = await rowsSince(() => push(directory, 'origin', 'HEAD:main', 'HEAD:denied'));
    expect(more).toEqual([]);
    expect(row?.outcome).toBe('denied');
    expect(row?.subject_id).toMatch(
      new RegExp(`^site refs/heads/(main|denied)=${oid} refs/heads/(main|denied)=${oid}$`),
    );
  });

  it.each(['refs/meta/a', 'refs/replace/a', 'refs/notes/a', 'refs/pull/1/head', 'refs/remotes/o/a', 'refs/portico/a'])(
    'says denied of %s, which our own rule refuses with all that came beside it',
    async (ref) => {
      const directory = await cloneFor('manage_studio', 'delete_studio');
      let said = '';
      const rows = await rowsSince(async () => {
        ({ stderr: said } = await push(directory, 'origin', `HEAD:${ref}`, 'HEAD:beside'));
      });
      expect(said).toContain(`remote: "${ref}" cannot be pushed; push branches (refs/heads/`);
      expect(rows.map(({ outcome }) => outcome)).toEqual(['denied']);
      expect(rows[0]?.subject_id).toMatch(new RegExp(`${ref}=${oid}`));
      const listed = await git(directory, 'ls-remote', 'origin');
      expect(listed.stdout).not.toMatch(/beside/);
    },
  );

  it('says denied of an annotated tag that is pushed to a branch', async () => {
    const directory = await cloneFor('manage_studio', 'delete_studio');
    await git(directory, 'tag', '-a', '-m', 'One', 'v1');
    let said = '';
    const rows = await rowsSince(async () => {
      ({ stderr: said } = await push(directory, 'origin', 'v1:refs/heads/tagged'));
    });
    expect(said).toContain('remote: tagged is a branch and must hold a commit, not an annotated tag');
    expect(rows).toMatchObject([{ outcome: 'denied' }]);
    expect((await push(directory, 'origin', 'v1^{commit}:refs/heads/tagged', 'v1')).code).toBe(0);
  });

  it('says denied where the metric and the log of the operation say refused, and never ok', async () => {
    const counted = async (outcome: string) => {
      const { body } = await app.ask('GET', '/metrics', { token: metricsToken });
      const name = `portico_operation_seconds_count{operation="studio.pushRepository",outcome="${outcome}"} `;
      const line = String(body)
        .split('\n')
        .find((line) => line.startsWith(name));
      return Number(line?.slice(name.length) ?? 0);
    };
    const logged = () =>
      app.log
        .map((line) => JSON.parse(line) as { operation?: string; outcome?: string })
        .filter(({ operation }) => operation === 'studio.pushRepository')
        .at(-1)?.outcome;
    const before = { ok: await counted('ok'), refused: await counted('refused'), failed: await counted('failed') };
    const directory = await cloneFor();
    await commit(directory, { 'src/refused.js': 'x' });
    expect((await push(directory)).code).toBe(1);
    expect(logged()).toBe('refused');
    expect((await push(directory, 'origin', 'HEAD~1:refs/heads/counted')).code).toBe(0);
    expect(logged()).toBe('ok');
    const lock = path.join(app.directory((await app.repository('site')).id), 'refs/heads/held.lock');
    writeFileSync(lock, '');
    expect((await push(directory, 'origin', 'HEAD~1:refs/heads/held')).code).toBe(1);
    rmSync(lock);
    expect(logged()).toBe('failed');
    expect({ ok: await counted('ok'), refused: await counted('refused'), failed: await counted('failed') }).toEqual({
      ok: before.ok + 1,
      refused: before.refused + 1,
      failed: before.failed + 1,
    });
  });

  it('says failed of the refs git does not move, and ok of those it moves', async () => {
    const directory = await cloneFor('manage_studio', 'delete_studio');
    const head = (await git(directory, 'rev-parse', 'HEAD')).stdout.trim();
    // A lock of another process on one of two branches.
    const lock = path.join(app.directory((await app.repository('site')).id), 'refs/heads/locked.lock');
    mkdirSync(path.dirname(lock), { recursive: true });
    writeFileSync(lock, '');
    const rows = await rowsSince(() => push(directory, 'origin', 'HEAD:locked', 'HEAD:free'));
    rmSync(lock);
    expect(rows.map(({ outcome, subject_id }) => [outcome, subject_id]).sort()).toEqual([
      ['failed', `site refs/heads/locked=${head}`],
      ['ok', `site refs/heads/free=${head}`],
    ]);
  });

  it('is not written for a request that asks for nothing, as clients send before a large push', async () => {
    const directory = await cloneFor();
    await commit(directory, { 'public/large.svg': `<svg>${randomBytes(200_000).toString('hex')}</svg>` });
    const rows = await rowsSince(() => git(directory, '-c', 'http.postBuffer=65536', 'push', 'origin', 'HEAD:large'));
    expect(rows).toMatchObject([{ outcome: 'ok' }]);
  });
});

describe('protected branches', () => {
  it('can be neither rewritten nor deleted, and with require_pull not moved', async () => {
    const all = ['delete_studio', 'manage_studio'] as const;
    const directory = await cloneFor(...all);
    await push(directory, 'origin', 'HEAD:release/1');
    const patch = (body: object) => app.ask('PATCH', `${studio}/repository`, { body });
    expect((await patch({ protected_branches: ['release/*', 'main'] })).status).toBe(200);
    expect((await push(directory, 'origin', ':release/1')).stderr).toMatch(
      /release\/1 is protected and cannot be deleted/,
    );
    await commit(directory, { 'content/posts/c.md': post('C') });
    expect((await push(directory, 'origin', 'HEAD:release/1')).code).toBe(0);
    await git(directory, 'commit', '-q', '--amend', '-m', 'Rewritten');
    expect((await push(directory, '--force', 'origin', 'HEAD:release/1')).stderr).toMatch(
      /release\/1 is protected and cannot be rewritten/,
    );
    await patch({ require_pull: true });
    await commit(directory, { 'content/posts/d.md': post('D') });
    expect((await push(directory, 'origin', 'HEAD:main')).stderr).toMatch(
      /main is protected; it moves by merging pull requests/,
    );
  });
});

describe('a merge made by hand', () => {
  beforeAll(async () => {
    const free = { protected_branches: [], require_pull: false };
    expect((await app.ask('PATCH', `${studio}/repository`, { body: free })).status).toBe(200);
  });

  /** A clone whose branch has a merge: of what `mine` does at an older commit with what `theirs` did on main since. */
  async function merged(mine: Record<string, string | null>, theirs: Record<string, string | null>, how: string[]) {
    const directory = await cloneFor();
    await seedChanges(theirs);
    await commit(directory, mine);
    await git(directory, 'fetch', '-q', 'origin');
    await git(directory, 'merge', '-q', '--no-edit', ...how, 'origin/main');
    return directory;
  }
  const seedChanges = async (files: Record<string, string | null>) => {
    const owner = await cloneFor('delete_studio', 'manage_studio');
    await commit(owner, files);
    expect((await push(owner)).code).toBe(0);
  };

  it('is what git makes of it, for users who may edit', async () => {
    const directory = await merged({ 'content/posts/m1.md': post('M1') }, { 'src/there.js': '1\n' }, []);
    expect(await push(directory)).toMatchObject({ code: 0 });
  });

  it('takes nothing back that the other side has: -s ours', async () => {
    const gone = await merged({ 'content/posts/m2.md': post('M2') }, { 'content/posts/theirs.md': post('T') }, [
      '-s',
      'ours',
    ]);
    expect((await push(gone)).stderr).toContain(
      'content/posts/theirs.md is deleted, which needs the permission delete_studio',
    );
    const code = await merged({ 'content/posts/m3.md': post('M3') }, { 'package.json': '{"fixed": 1}\n' }, [
      '-s',
      'ours',
    ]);
    expect((await push(code)).stderr).toContain('package.json is outside collections and media');
    expect((await app.ask('GET', `${studio}/file?path=package.json`)).body.content).toContain('fixed');
    expect((await app.ask('GET', `${studio}/collections/posts/theirs`)).status).toBe(200);
  });

  it('takes no lines of code with the marks of a conflict, whose labels hold what a commit is called', async () => {
    const lines = (middle: string) => `<p>first</p>\n<p>${middle}</p>\n<p>last</p>\n`;
    const owner = await cloneFor('delete_studio', 'manage_studio');
    await commit(owner, { 'layouts/base.html': lines('as it was') });
    await git(owner, 'branch', 'redesign');
    await commit(owner, { 'layouts/base.html': lines('on main') });
    await git(owner, 'checkout', '-q', 'redesign');
    await commit(owner, { 'layouts/base.html': lines('redesigned') });
    expect((await push(owner, 'origin', 'main', 'redesign')).code).toBe(0);
    const directory = await cloneFor();
    await git(directory, 'checkout', '-q', '-b', 'marks', 'origin/redesign');
    writeFileSync(path.join(directory, 'content/posts/marks.md'), post('Marks'));
    await git(directory, 'add', '-A');
    await git(directory, 'commit', '-q', '-m', '<script>evil()</script>');
    const label = async (name: string) => (await git(directory, 'log', '-1', '--format=%h (%s)', name)).stdout.trim();
    await git(directory, 'merge', '--no-commit', 'origin/main');
    writeFileSync(
      path.join(directory, 'layouts/base.html'),
      `<p>first</p>\n<<<<<<< ${await label('HEAD')}\n<p>redesigned</p>\n=======\n<p>on main</p>\n>>>>>>> ${await label('origin/main')}\n<p>last</p>\n`,
    );
    await git(directory, 'add', '-A');
    await git(directory, 'commit', '-q', '-m', 'Merge');
    // What this test is about: git itself shows nothing that was done by hand.
    const { stdout } = await git(directory, 'show', '--diff-merges=remerge', '--raw', '--format=', 'HEAD');
    expect(stdout).toBe('');
    const answer = await push(directory, 'origin', 'marks');
    expect(answer.stderr.replace(/\s*\nremote: */g, ' ')).toMatch(
      /layouts\/base\.html is outside collections and media.*manage_studio/,
    );
    expect((await app.ask('GET', `${studio}/branches/marks`)).status).not.toBe(200);
  });

  it('carries no code that was content on another branch, whether it is merged or written there on top of main', async () => {
    const owner = await cloneFor('delete_studio', 'manage_studio');
    const declared =
      'content: [{ name: tools, type: collection, path: tools, format: json, fields: [{ name: command, type: string }] }]\n';
    await commit(owner, { '.pages.yml': declared, 'tools/deploy.json': '{"command": "safe"}\n' });
    const { stdout: early } = await git(owner, 'rev-parse', 'HEAD');
    await commit(owner, { '.pages.yml': null });
    const branches = ['early', 'early-too'].map((name) => `${early.trim()}:refs/heads/${name}`);
    expect((await push(owner, 'origin', 'main', ...branches)).code).toBe(0);
    const directory = await cloneFor();
    const evil = { 'tools/deploy.json': '{"command": "evil"}\n' };
    await git(directory, 'checkout', '-q', 'early');
    await commit(directory, evil);
    expect((await push(directory, 'origin', 'early')).code).toBe(0);
    await git(directory, 'checkout', '-q', 'main');
    expect((await git(directory, 'merge', '-q', '-m', 'Merge', 'early')).code).toBe(0);
    const merged = await push(directory, 'origin', 'main');
    expect(merged.stderr.replace(/\s*\nremote: */g, ' ')).toMatch(
      /tools\/deploy\.json is outside collections and media here, and was content.*manage_studio/,
    );
    await git(directory, 'reset', '-q', '--hard', 'origin/main');
    await commit(directory, evil);
    const written = await push(directory, 'origin', 'HEAD:refs/heads/early-too');
    expect(written.stderr).toContain('tools/deploy.json is outside collections and media');
  });

  it('brings no two names together that are one on some file systems, unless it is made by a manager', async () => {
    const owner = await cloneFor('manage_studio');
    const directory = await cloneFor();
    for (const [branch, name] of [
      ['upper', 'Zed'],
      ['lower', 'zed'],
    ] as const) {
      await git(directory, 'checkout', '-q', '-B', branch, 'origin/main');
      await commit(directory, { [`content/posts/${name}.md`]: post(name) });
      expect((await push(directory)).code).toBe(0);
    }
    expect((await git(directory, 'merge', '-q', '-m', 'Merge', 'upper')).code).toBe(0);
    for (const ref of ['refs/heads/lower', 'refs/heads/new', 'refs/tags/zed'])
      expect((await push(directory, 'origin', `HEAD:${ref}`)).stderr.replace(/\s*\nremote: */g, ' ')).toMatch(
        /content\/posts\/[Zz]ed\.md differs from content\/posts\/[Zz]ed\.md only in case.*manage_studio/,
      );
    await git(owner, 'fetch', '-q', 'origin');
    await git(owner, 'checkout', '-q', 'lower');
    expect((await git(owner, 'merge', '-q', '-m', 'Merge', 'origin/upper')).code).toBe(0);
    expect((await push(owner, 'origin', 'HEAD:refs/heads/both')).code).toBe(0);
    // It is there now: an editor merges the branch that has both.
    await git(directory, 'fetch', '-q', 'origin');
    await git(directory, 'checkout', '-q', '-B', 'onward', 'origin/lower');
    await commit(directory, { 'content/posts/onward.md': post('Onward') });
    expect((await git(directory, 'merge', '-q', '-m', 'Merge', 'origin/both')).code).toBe(0);
    expect((await push(directory)).code).toBe(0);
  });

  it('takes nothing back in a merge of three', async () => {
    const directory = await cloneFor();
    await seedChanges({ 'package.json': '{"three": 1}\n' });
    await git(directory, 'checkout', '-q', '-b', 'one');
    await commit(directory, { 'content/posts/m4.md': post('M4') });
    await git(directory, 'fetch', '-q', 'origin');
    const { stdout: tree } = await git(directory, 'rev-parse', 'HEAD^{tree}');
    const parents = ['HEAD', 'origin/main', 'HEAD~1'].flatMap((name) => ['-p', name]);
    const { stdout: octopus } = await git(directory, 'commit-tree', tree.trim(), ...parents, '-m', 'Octopus');
    const answer = await push(directory, 'origin', `${octopus.trim()}:refs/heads/main`);
    expect(answer.stderr).toContain('package.json is outside collections and media');
  });
});
