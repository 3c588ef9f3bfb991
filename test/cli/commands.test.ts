import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { Screen } from '../../src/cli/screen.ts';
import { newDataDir, portico, settingsFor } from '../support/server-process.ts';

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
    'users list',
    'users add',
    'users reset',
    'users disable',
    'users enable',
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
  [['users', 'reset'], /^portico: <e-mail> is missing\n/],
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
