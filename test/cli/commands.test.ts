import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { Screen } from '../../src/cli/screen.ts';
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

const nowhere = { PORTICO_DATA_DIR: '/nowhere' };

test('help, one command’s help and the version need no settings', async () => {
  const wrong = { ...nowhere, PORTICO_PORT: 'none' };
  const help = await portico(['help'], wrong);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  for (const name of [
    'import',
    'backup',
    'restore',
    'check',
    'organization create',
    'token create',
    'token list',
    'token revoke',
    'config',
    'keys',
  ])
    expect(help.stdout).toContain(`\n  ${name}`);
  expect((await portico(['import', '--help'], wrong)).stdout).toMatch(/^Usage: portico import <url\|path> --org/);
  expect((await portico(['--version'], wrong)).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

/** Runs a command line that must not get as far as opening anything. */
async function inProcess(args: readonly string[]) {
  const written = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof written) => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  const closed = () => Promise.reject(new Error('nothing is to be opened'));
  const code = await runCli(args, {
    open: closed,
    settings: () => ({}),
    isolation: async () => '',
    version: '1.0.0',
    screen: new Screen(sink('stdout'), sink('stderr')),
    signal: new AbortController().signal,
  });
  return { code, ...written };
}

test.each([
  [[], /^portico: name a command\nUsage: portico <command>/],
  [['publish'], /^portico: unknown command publish\nUsage: portico <command>/],
  [['token'], /^portico: unknown command token\nUsage/],
  [['import'], /^portico: <url\|path> is missing\nUsage: portico import/],
  [['organization', 'create'], /^portico: <name> is missing\n/],
  [['token', 'revoke'], /^portico: <id> is missing\n/],
  [['import', 'a', 'b'], /^portico: Unexpected b\n/],
  [['import', '.', '--project', 'a'], /^portico: --organization is required\n/],
  [['import', '.', '--organization', 'A b', '--project', 'a'], /^portico: --organization must be 1 to 63 of a-z/],
  [['token', 'list', '--loud'], /^portico: Unknown option '--loud'\nUsage: portico token list/],
  [['backup', 'acme/site'], /^portico: <directory> is missing\nUsage: portico backup/],
  [['backup', '--all'], /^portico: <directory> is missing\n/],
  [['backup', '--all', 'a', 'b'], /^portico: Unexpected b; --all needs a directory alone\n/],
  [['backup', 'site', 'there'], /^portico: site is not a project; write <organization>\/<project>\n/],
  [['restore'], /^portico: <directory> is missing\n/],
  [['restore', 'there', '--project', 'A b'], /^portico: --project must be 1 to 63 of a-z/],
  [['check', 'acme/site/more'], /^portico: acme\/site\/more is not a project; write/],
  [['token', 'create', '--organization', 'a'], /^portico: Give either --preset or --permission\n/],
] as const)('%j is answered with the usage and exit 2', async (args, message) => {
  const ended = await inProcess(args);
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toMatch(message);
});

test('config prints the effective values without the secrets, and one line per fault', async () => {
  const secret = 'postgres://me:hidden@db/portico';
  const dataDir = await newDataDir();
  const settings = settingsFor(dataDir, { PORTICO_PORT: '1234', DATABASE_URL: secret });
  const shown = await portico(['config'], settings);
  expect(await readdir(path.dirname(path.dirname(dataDir)))).not.toContain(
    path.basename(settings.PORTICO_BUILD_DIR ?? ''),
  );
  expect(shown.stdout).toMatch(/^PORTICO_PORT=1234$/m);
  expect(shown.stdout).toMatch(/^DATABASE_URL=\*+$/m);
  expect(shown.stdout).toMatch(/^# Isolation of builds: (bubblewrap|user|process) \(.+\)$/m);
  const wrong = await portico(['config'], { PORTICO_PORT: 'high' });
  expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: 'portico: PORTICO_PORT: must be a port number\n' });
});

test('a database that is not there is one line', async () => {
  const { PORTICO_DATA_DIR = '' } = settingsFor(await newDataDir());
  const settings = { PORTICO_DATA_DIR, DATABASE_URL: 'postgres://me:hidden@127.0.0.1:1/portico' };
  const ended = await portico(['token', 'list', '--organization', 'a'], settings);
  const stderr = 'portico: The database cannot be reached (ECONNREFUSED); see DATABASE_URL\n';
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr });
});

test('an unknown command ends the process with 2', async () => {
  expect(await portico(['publish'], nowhere)).toMatchObject({ code: 2, stdout: '' });
});

test('organisations and tokens: made without a server, used and revoked with one', async () => {
  const { dataDir } = await demoDataDir();
  const settings = settingsFor(dataDir);
  const made = await portico(['organization', 'create', 'acme', '--name', 'Acme'], settings);
  expect(made).toMatchObject({ code: 0, stdout: 'Created organisation acme\n', stderr: '' });
  const server = await startServer(dataDir);
  const again = await portico(['organization', 'create', 'acme'], settings);
  expect(again).toMatchObject({ code: 1, stderr: 'portico: machine_name: acme is taken\n' });
  const options = ['--organization', 'acme', '--preset', 'readonly', '--expires', '30d', '--name', 'Reader'];
  const created = await portico(['token', 'create', ...options], settings);
  expect(created.stdout).toMatch(/^ptc_[0-9A-Za-z]{36}\n$/);
  expect(created.stderr).toMatch(/^Token \d+ for all of acme, expires 20\d\d-.*\. It is shown only here\.\n$/);

  const rest = restClient(server.url, created.stdout.trim());
  expect((await rest.get('/organizations/acme')).status).toBe(200);
  const listed = await portico(['token', 'list', '--organization', 'acme'], settings);
  const [, id = ''] = /^(\d+) +Reader +\w{4} +readonly +all +20/m.exec(listed.stdout) ?? [];
  const revoked = await portico(['token', 'revoke', id, '--organization', 'acme'], settings);
  expect(revoked).toMatchObject({ code: 0, stdout: 'Token revoked\n' });
  expect((await rest.get('/organizations/acme')).status).toBe(401);
});

test('a token is confined to projects and permissions, and what is not there is refused', async () => {
  const { dataDir } = await demoDataDir();
  await startServer(dataDir);
  const settings = settingsFor(dataDir);
  const create = (...args: string[]) => portico(['token', 'create', '--organization', 'demo', ...args], settings);
  const confined = await create('--project', 'site', '--permission', 'browse_studio', '--permission', 'edit_studio');
  expect(confined.stderr).toMatch(/^Token \d+ for demo\/\{site\}, expires/);
  expect((await create('--project', 'none', '--preset', 'admin')).stderr).toBe(
    'portico: projects: none is not a project of this organisation\n',
  );
  expect((await create('--permission', 'fly')).stderr).toMatch(
    /^portico: permissions\.0: must be one of browse_studio/,
  );
  const unknown = await portico(['token', 'list', '--organization', 'nobody'], settings);
  expect(unknown).toMatchObject({ code: 1, stderr: 'portico: Organisation not found\n' });
});

test('a command whose reader leaves stops the database it started', async () => {
  const { dataDir } = await demoDataDir();
  const running = await startProgram('portico', ['keys', 'status'], settingsFor(dataDir));
  running.child.stdout?.destroy();
  expect((await running.ended).code).toBe(0);
  expect(await postmasterPid(dataDir)).toBeNull();
});

test('keys: a rotation makes a new active key', async () => {
  const settings = settingsFor((await demoDataDir()).dataDir);
  const before = await portico(['keys', 'status'], settings);
  const [, first = ''] = /^(kek-\w+) +active +20/m.exec(before.stdout) ?? [];
  const rotated = await portico(['keys', 'rotate'], settings);
  const [, second = ''] = /^Active key: (kek-\w+)\./.exec(rotated.stdout) ?? [];
  expect(rotated).toMatchObject({ code: 0, stderr: '' });
  const after = (await portico(['keys', 'status'], settings)).stdout;
  expect(after).toMatch(new RegExp(`^${first} +inactive .* 0$`, 'm'));
  expect(after).toMatch(new RegExp(`^${second} +active .* 0$`, 'm'));
});
