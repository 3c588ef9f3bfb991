import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { git, temporaryDirectory } from '../support/git-store.ts';
import { restClient } from '../support/rest-client.ts';
import {
  demoDataDir,
  newDataDir,
  portico,
  postmasterPid,
  settingsFor,
  startProgram,
  startServer,
} from '../support/server-process.ts';

// Each command is a process that may start a database, on a machine that does other things as well.
const into = (project: string) => ['--organization', 'acme', '--project', project];

/** A repository of two posts and a page on branch `trunk`, with a second branch. */
async function source(): Promise<string> {
  const directory = path.join(temporaryDirectory(), 'site');
  await mkdir(path.join(directory, 'content/posts'), { recursive: true });
  await mkdir(path.join(directory, 'content/pages'), { recursive: true });
  for (const name of ['posts/one', 'posts/two', 'pages/about'])
    await writeFile(path.join(directory, `content/${name}.md`), `---\ntitle: ${name}\n---\nText\n`);
  git(directory, ['init', '--quiet', '--initial-branch', 'trunk']);
  git(directory, ['add', '--all']);
  git(directory, ['commit', '--quiet', '--message', 'Begin']);
  git(directory, ['branch', 'other']);
  return directory;
}

const summary =
  /Imported .*\/site into acme\/site in [\d.]+ s: 2 branches, default trunk\n {2}pages: 1 entry\n {2}posts: 2 entries\nClone it: git clone http:\/\/localhost:4280\/git\/acme\/site\.git\n$/;

test('without a server: the embedded database runs for the command alone, and a full project is refused', async () => {
  const dataDir = await newDataDir();
  const settings = settingsFor(dataDir);
  const from = await source();
  const first = await portico(['import', from, ...into('site'), '--name', 'My site'], settings);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(/^Created organisation acme\nCreated project acme\/site\nConnecting\n/);
  expect(first.stdout).toMatch(summary);
  expect(await postmasterPid(dataDir)).toBeNull();

  const again = await portico(['import', from, ...into('site')], settings);
  expect(again).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'portico: Project acme/site is not empty; import into a new project\n',
  });
  const bare = path.join(temporaryDirectory(), 'bare.git');
  git(path.dirname(bare), ['clone', '--quiet', '--bare', from, bare]);
  expect((await portico(['import', bare, ...into('bare')], settings)).stdout).toContain('posts: 2 entries');
});

test('with a server: the command joins its database, and the server serves the entries at once', async () => {
  const { dataDir } = await demoDataDir();
  const server = await startServer(dataDir);
  // The log, which is written in the background, says how builds are isolated.
  await server.says(/"Builds (are kept apart|run as|are refused)/);
  const settings = settingsFor(dataDir);
  const imported = await portico(['import', await source(), ...into('site')], settings);
  expect(imported).toMatchObject({ code: 0, stderr: '' });
  const token = (await portico(['token', 'create', '--organization', 'acme', '--preset', 'readonly'], settings)).stdout;
  const { status, body } = await restClient(server.url, token.trim()).get(
    '/organizations/acme/projects/site/studio/collections/posts',
  );
  expect(status).toBe(200);
  expect(body).toHaveLength(2);
  expect(imported.stdout).toContain(`git clone ${server.url.replace('127.0.0.1', 'localhost')}/git/acme/site.git`);
  expect((await server.stop()).code).toBe(0);
});

test.each([
  ['a plain directory', (place: string) => place, /is not a git repository; make it one there: git init && git add/],
  ['no directory', (place: string) => `${place}/nothing`, /: no such directory$/],
  ['plain http', () => 'http://example.org/site.git', /must be an https URL; or clone it/],
  ['ssh', () => 'git@example.org:site.git', /ssh is not supported here/],
  [
    'a password, which is not repeated',
    () => 'https://me:hidden@example.org/a',
    /^portico: The address must not contain/,
  ],
])('refuses %s in one line and starts nothing', async (_what, argument, message) => {
  const dataDir = await newDataDir();
  const ended = await portico(['import', argument(temporaryDirectory()), ...into('site')], settingsFor(dataDir));
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr.trimEnd()).toMatch(message);
  expect(ended.stderr.split('\n')).toHaveLength(2);
  await expect(readdir(dataDir)).rejects.toThrow('ENOENT');
});

test('refuses a shallow clone and a repository without commits', async () => {
  const settings = settingsFor(await newDataDir());
  const directory = temporaryDirectory();
  git(directory, ['clone', '--quiet', '--depth', '1', `file://${await source()}`, 'shallow']);
  const shallow = await portico(['import', path.join(directory, 'shallow'), ...into('site')], settings);
  expect(shallow).toMatchObject({ code: 1, stderr: expect.stringContaining('git fetch --unshallow') });
  git(directory, ['init', '--quiet', 'empty']);
  const empty = await portico(['import', path.join(directory, 'empty'), ...into('site')], settings);
  expect(empty).toMatchObject({ code: 1, stderr: expect.stringContaining('has no commits yet') });
});

test('Ctrl-C ends an import: exit 130, the repository empty, the state recorded, and a repeat works', async () => {
  const { dataDir, token } = await demoDataDir();
  const settings = settingsFor(dataDir);
  const from = await source();
  // A git that hangs while it fetches; what it says comes in one piece, so that it cannot be ended in between.
  const tools = temporaryDirectory();
  const real = (process.env.PATH ?? '').split(':');
  const script = `#!/bin/sh\nPATH='${real.join(':')}'\ncase "$*" in *'fetch --progress'*) echo >"${tools}/fetching"; printf 'Receiving objects:  10%% (1/10)\\nReceiving objects:  20%% (2/10)\\n' >&2; sleep 60;; *) exec git "$@";; esac\n`;
  await writeFile(path.join(tools, 'git'), script);
  await chmod(path.join(tools, 'git'), 0o755);
  const slow = { ...settings, PATH: `${tools}:${process.env.PATH}` };
  const running = await startProgram('portico', ['import', from, '--organization', 'demo', '--project', 'late'], slow);
  await running.says(/Receiving objects: 1\/10\n/);
  running.child.kill('SIGINT');
  const ended = await running.ended;
  expect(ended.code).toBe(130);
  expect(ended.stderr).toBe('portico: Cancelled\n');
  expect(ended.stdout).toContain('Receiving objects: 2/10\n');
  expect(await postmasterPid(dataDir)).toBeNull();
  expect(await readFile(path.join(tools, 'fetching'), 'utf8')).toBe('\n');

  const server = await startServer(dataDir);
  const made = await portico(['token', 'create', '--organization', 'demo', '--preset', 'admin'], settings);
  const rest = restClient(server.url, made.stdout.trim());
  const repository = '/organizations/demo/projects/late/studio/repository';
  expect((await rest.get(repository)).body.import).toMatchObject({ state: 'failed', message: 'Cancelled' });
  expect((await rest.get('/organizations/demo/projects/late/studio/branches')).body).toEqual([]);
  const again = await portico(['import', from, '--organization', 'demo', '--project', 'late'], settings);
  expect(again.code).toBe(0);
  expect((await rest.get(repository)).body.import).toMatchObject({ state: 'completed' });
  expect((await restClient(server.url, token).get('/organizations/demo')).status).toBe(200);
});

test('two commands at once share the database that the first one started, whichever ends first', async () => {
  const settings = settingsFor(await newDataDir());
  const sources = [await source(), await source(), await source()];
  const ended = await Promise.all(
    sources.map((from, at) => portico(['import', from, ...into(`site-${at}`)], settings)),
  );
  for (const { code, stderr } of ended) expect([code, stderr]).toEqual([0, '']);
});
