import { chmod, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { git, temporaryDirectory } from '../support/git-store.ts';
import { createDatabase } from '../support/postgres.ts';
import { kill, newDataDir, portico, settingsFor, startProgram } from '../support/server-process.ts';

// Each command is a process, on a machine that does other things as well.
/** A data directory with a database of its own, and the project `acme/site` of one post. */
async function instance() {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  const dataDir = await newDataDir();
  const settings = settingsFor(dataDir, { DATABASE_URL: database.url });
  const from = temporaryDirectory();
  await writeFile(path.join(from, 'post.md'), '---\ntitle: One\n---\nText\n');
  git(from, ['init', '--quiet', '--initial-branch', 'main']);
  git(from, ['add', '--all']);
  git(from, ['commit', '--quiet', '--message', 'Begin']);
  const imported = await portico(['import', from, '--organization', 'acme', '--project', 'site'], settings);
  expect(imported).toMatchObject({ code: 0, stderr: '' });
  return { dataDir, settings, url: database.url };
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test('a restore killed between repository and rows leaves nothing visible; check finds its remains, and a repeat works', async () => {
  const { dataDir, settings, url } = await instance();
  const directory = path.join(temporaryDirectory(), 'backup');
  expect((await portico(['backup', 'acme/site', directory], settings)).code).toBe(0);
  const client = await connected(url);
  // Of its own: what a transaction sees of other sessions stands still.
  const watcher = await connected(url);
  const inserting = async (more = '') => {
    const sql = `select 1 from pg_stat_activity where query like 'insert into "project"%' ${more}`;
    return (await watcher.query(sql)).rowCount;
  };
  await client.query('begin');
  // Rows can be read and not written: the restore has made its repository, and waits.
  await client.query('lock table project in share mode');
  const running = await startProgram('portico', ['restore', directory, '--project', 'copy'], settings);
  await vi.waitUntil(async () => (await inserting("and wait_event_type = 'Lock'")) === 1, { timeout: 60_000 });
  await kill(running.child);
  await client.query('commit');
  await vi.waitUntil(async () => (await inserting()) === 0, { timeout: 60_000 });
  const { rows } = await client.query('select machine_name from project');
  expect(rows).toEqual([{ machine_name: 'site' }]);

  const checked = await portico(['check'], settings);
  expect(checked).toMatchObject({ code: 1, stderr: 'portico: 1 problem found\n' });
  expect(checked.stdout).toMatch(/^acme\/site: sound$/m);
  expect(checked.stdout).toMatch(
    /^data directory: 1 problem\n {2}git\/[0-9a-f-]{36}\.git has no project\n {4}What to do: /m,
  );
  const again = await portico(['restore', directory, '--project', 'copy'], settings);
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect((await portico(['check', 'acme/copy'], settings)).stdout).toMatch(/acme\/copy: sound\n$/);
  expect((await readdir(path.join(dataDir, 'git'))).filter((name) => name.endsWith('.git'))).toHaveLength(3);
});

test.each([
  ['SIGINT', 130, []],
  ['SIGKILL', null, [expect.stringMatching(/^backup\.unfinished-/)]],
] as const)('a backup ended by %s is no backup, and a repeat works', async (signal, code, left) => {
  const { settings } = await instance();
  const parent = temporaryDirectory();
  const directory = path.join(parent, 'backup');
  // A git that hangs while it writes the bundle.
  const tools = temporaryDirectory();
  const real = process.env.PATH ?? '';
  const script = `#!/bin/sh\nPATH='${real}'\ncase "$*" in *'bundle create'*) exec sleep 60;; *) exec git "$@";; esac\n`;
  await writeFile(path.join(tools, 'git'), script);
  await chmod(path.join(tools, 'git'), 0o755);
  const running = await startProgram('portico', ['backup', 'acme/site', directory], {
    ...settings,
    PATH: `${tools}:${real}`,
  });
  await running.says(/acme\/site: Writing the repository\n/);
  running.child.kill(signal);
  const ended = await running.ended;
  expect(ended.code).toBe(code);
  if (signal === 'SIGINT') expect(ended.stderr).toBe('portico: Cancelled\n');
  expect(await readdir(parent)).toEqual(left);
  expect(await portico(['restore', directory], settings)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is no backup'),
  });
  expect((await portico(['backup', 'acme/site', directory], settings)).code).toBe(0);
});
