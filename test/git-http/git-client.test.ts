import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { permissionNames } from '../../src/kernel/actor.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { siteFiles } from '../support/site-files.ts';

const run = promisify(execFile);
const app = shared(startTestApp);
let home: string;
let reader: string;
let strange: string;
let next = 0;

beforeAll(async () => {
  await seed(app, siteFiles);
  await seed(app, { 'second.md': '2\n' });
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
  home = mkdtempSync(join(tmpdir(), 'portico-client-'));
  reader = await app.makeToken(['browse_studio']);
  strange = await app.makeToken(permissionNames, { organization: 'other' });
});
afterAll(async () => {
  if (home) rmSync(home, { recursive: true, force: true });
});

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Stock git with no configuration of the machine; what it says, whether it fails or not. */
async function git(cwd: string, ...args: string[]): Promise<Ran> {
  const person = { NAME: 'Client', EMAIL: 'client@example.org' };
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    ...Object.fromEntries(
      Object.entries(person).flatMap(([name, value]) =>
        [`GIT_AUTHOR_${name}`, `GIT_COMMITTER_${name}`].map((key) => [key, value]),
      ),
    ),
  };
  return run('git', args, { cwd, env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout: stdout.trim(), stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

const remote = (token: string | null = app.token, path = 'acme/site') =>
  `${app.url.replace('://', token === null ? '://' : `://git:${token}@`)}/git/${path}.git`;

/** A clone of its own; fails the test when it cannot be made. */
async function clone(...options: string[]): Promise<string> {
  const directory = join(home, `clone-${next++}`);
  const { code, stderr } = await git(home, 'clone', '-q', ...options, remote(), directory);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return directory;
}

/** Writes a post into a clone and commits it. */
async function post(directory: string, name: string, title = 'Pushed'): Promise<string> {
  writeFileSync(
    join(directory, `src/content/posts/en/${name}.md`),
    `---\ntitle: ${title}\nauthor: ada\n---\n\nBy git.\n`,
  );
  await git(directory, 'add', '.');
  await git(directory, 'commit', '-qm', `Push ${name}`);
  return (await git(directory, 'rev-parse', 'HEAD')).stdout;
}

describe('clone and fetch', () => {
  it('brings every file and every commit', async () => {
    const directory = await clone();
    const { body } = await app.ask('GET', `${studio}/commits?per_page=100`);
    const log = (await git(directory, 'log', '--format=%H')).stdout.split('\n');
    expect(log).toEqual(body.map(({ sha }: { sha: string }) => sha));
    expect((await git(directory, 'show', 'HEAD:src/content/posts/en/alpha.md')).stdout).toContain(
      '# What readers see first.',
    );
    expect((await git(directory, 'fsck', '--strict')).code).toBe(0);
  });

  it.each(['0', '1', '2'])('speaks protocol version %s', async (version) => {
    const directory = await clone('-c', `protocol.version=${version}`);
    expect((await git(directory, 'rev-parse', 'HEAD')).code).toBe(0);
    expect((await git(directory, '-c', `protocol.version=${version}`, 'ls-remote')).stdout).toContain(
      'refs/heads/main',
    );
  });

  it('shallow, and deeper later', async () => {
    const directory = await clone('--depth=1');
    expect((await git(directory, 'rev-list', '--count', 'HEAD')).stdout).toBe('1');
    expect((await git(directory, 'fetch', '-q', '--unshallow')).code).toBe(0);
    expect(Number((await git(directory, 'rev-list', '--count', 'HEAD')).stdout)).toBeGreaterThan(1);
  });

  it('partial, without blobs until they are read', async () => {
    const directory = await clone('--filter=blob:none', '--no-checkout');
    const missing = (await git(directory, 'rev-list', '--objects', '--missing=print', 'HEAD')).stdout;
    expect(missing).toMatch(/^\?[0-9a-f]{40}$/m);
    expect((await git(directory, 'show', 'HEAD:README.md')).stdout).toBe('# Site');
  });

  it('fetches what the API committed since', async () => {
    const directory = await clone();
    const body = { slug: 'en/by-api', frontmatter: { title: 'By API', author: 'ada' }, body: 'x\n' };
    const made = await app.ask('POST', `${studio}/collections/posts`, { body });
    await git(directory, 'fetch', '-q');
    const { stdout } = await git(directory, 'log', '-1', '--format=%H %an <%ae> %cn', 'origin/main');
    const { author } = made.body.commit;
    expect(stdout).toBe(`${made.body.commit.sha} ${author.name} <${author.email}> Portico`);
    expect((await git(directory, 'show', '--name-status', '--format=', 'origin/main')).stdout).toBe(
      'A\tsrc/content/posts/en/by-api.md',
    );
  });

  it('shows the diff of a save: the touched line and no other', async () => {
    const directory = await clone();
    await app.ask('PUT', `${studio}/collections/posts/en/alpha`, { body: { frontmatter: { rating: 2 } } });
    await git(directory, 'fetch', '-q');
    const { stdout } = await git(directory, 'diff', '-U0', 'HEAD', 'origin/main');
    const changed = stdout.split('\n').filter((line) => /^[-+][^-+]/.test(line));
    expect(changed).toEqual(['-rating: 4.5', '+rating: 2']);
  });

  it('clones an empty repository', async () => {
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { name: 'Void' } });
    const { code, stderr } = await git(home, 'clone', remote(app.token, 'acme/void'), 'void');
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('empty repository') });
  });
});

describe('push', () => {
  it('is visible at once in commits and entries', async () => {
    const directory = await clone();
    const sha = await post(directory, 'pushed');
    expect((await git(directory, 'push', '-q')).code).toBe(0);
    const [commit] = (await app.ask('GET', `${studio}/commits`)).body;
    expect(commit).toMatchObject({ sha, message: expect.stringContaining('Push pushed'), author: { name: 'Client' } });
    const listed = await app.ask('GET', `${studio}/collections/posts?filter[slug][eq]=en/pushed`);
    expect(listed.body).toMatchObject([{ title: 'Pushed' }]);
    expect((await app.ask('GET', `${studio}/collections/posts/en/pushed`)).body.body).toBe('By git.\n');
  });

  it('makes a branch and tags', async () => {
    const directory = await clone();
    await git(directory, 'switch', '-qc', 'feature/x');
    await post(directory, 'on-branch');
    await git(directory, 'tag', 'light');
    await git(directory, 'tag', '-am', 'Heavy', 'heavy');
    expect((await git(directory, 'push', '-q', 'origin', 'feature/x', 'light', 'heavy')).code).toBe(0);
    expect((await app.ask('GET', `${studio}/branches?q=feature`)).body).toMatchObject([{ name: 'feature/x' }]);
    const { stdout } = await git(directory, 'ls-remote', '--tags');
    expect(stdout).toMatch(/refs\/tags\/heavy\^\{\}/);
    expect((await app.ask('GET', `${studio}/collections/posts/en/on-branch?branch=feature/x`)).status).toBe(200);
  });

  it('begins an empty repository', async () => {
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { name: 'Start' } });
    const directory = await clone();
    expect((await git(directory, 'push', '-q', remote(app.token, 'acme/start'), 'HEAD:main')).code).toBe(0);
    const names = async (project: string) =>
      (await app.ask('GET', `/api/v2/organizations/acme/projects/${project}/studio/collections`)).body.map(
        ({ name, entries_count }: { name: string; entries_count: number }) => [name, entries_count],
      );
    expect(await names('start')).toEqual(await names('site'));
  });

  it('sends a request git compresses', async () => {
    const directory = await clone();
    for (let at = 0; at < 40; at++) await git(directory, 'commit', '-q', '--allow-empty', '-m', `${at}`);
    expect((await git(directory, 'push', '-q')).code).toBe(0);
    // Many haves make the body of a fetch large enough for git to send it with gzip.
    await app.ask('PUT', `${studio}/collections/posts/en/beta`, { body: { body: 'Newer.\n' } });
    for (let at = 0; at < 40; at++) await git(directory, 'commit', '-q', '--allow-empty', '-m', `local ${at}`);
    expect((await git(directory, '-c', 'protocol.version=0', 'fetch', '-q')).code).toBe(0);
  });

  const refused = async (directory: string, ...args: string[]) => {
    const before = (await git(directory, 'ls-remote')).stdout;
    const { code, stderr } = await git(directory, 'push', ...args);
    expect(code, stderr).not.toBe(0);
    expect((await git(directory, 'ls-remote')).stdout).toBe(before);
    return stderr;
  };

  it('refuses to delete the default branch', async () => {
    const directory = await clone();
    expect(await refused(directory, 'origin', '--delete', 'main')).toMatch(/deletion|refus/);
  });

  it.each([
    'refs/portico/rescue/x',
    'refs/remotes/upstream/main',
    'refs/pull/1/head',
    'refs/notes/x',
    'refs/x',
    'refs/replace/x',
  ])('refuses %s', async (ref) => {
    const directory = await clone();
    await post(directory, `hidden-${next}`);
    await refused(directory, 'origin', `HEAD:${ref}`);
  });

  it('refuses objects that are broken', async () => {
    const directory = await clone();
    const { stdout: blob } = await git(directory, 'hash-object', '-w', 'README.md');
    writeFileSync(join(directory, 'tree'), `100644 .git\0${Buffer.from(blob, 'hex').toString('latin1')}`, 'latin1');
    const { stdout: tree } = await git(directory, 'hash-object', '-t', 'tree', '-w', '--literally', 'tree');
    const { stdout: commit } = await git(directory, 'commit-tree', '-m', 'Evil', '-p', 'HEAD', tree);
    expect(commit).toMatch(/^[0-9a-f]{40}$/);
    expect(await refused(directory, 'origin', `${commit}:refs/heads/main`)).toMatch(/hasDotgit|fsck|unpack/i);
  });

  it('refuses one who may only read, and leaves nothing', async () => {
    const directory = await clone();
    await post(directory, 'forbidden');
    const stderr = await refused(directory, remote(reader), 'HEAD:main');
    expect(stderr).toMatch(/403|edit_studio/);
    expect((await app.ask('GET', `${studio}/collections/posts/en/forbidden`)).status).toBe(404);
  });
});

describe('who may', () => {
  it.each<[string, () => string, RegExp]>([
    ['no token', () => remote(null), /could not read Username|Authentication failed/],
    ['a wrong token', () => remote('ptc_abcdefghijklmnopqrstuvwxyz01233PHGXn'), /Authentication failed/],
    ['a text that is no token', () => remote('secret'), /Authentication failed/],
    ['a token of another organisation', () => remote(strange), /403/],
    ['an unknown organisation', () => remote(app.token, 'nobody/site'), /not found/],
    ['an unknown project', () => remote(app.token, 'acme/nothing'), /not found/],
  ])('fails with %s', async (_what, url, said) => {
    const { code, stderr } = await git(home, 'ls-remote', url());
    expect(code).not.toBe(0);
    expect(stderr).toMatch(said);
  });

  it('takes browse_studio for a fetch and nothing less', async () => {
    expect((await git(home, 'ls-remote', remote(reader))).code).toBe(0);
    const others = await app.makeToken(permissionNames.filter((name) => name !== 'browse_studio'));
    expect((await git(home, 'ls-remote', remote(others))).stderr).toMatch(/403/);
    const elsewhere = await app.makeToken(permissionNames, { projects: ['start'] });
    expect((await git(home, 'ls-remote', remote(elsewhere))).stderr).toMatch(/403/);
  });
});
