import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { backupProject } from '../../../src/domain/backups/backup-project.operations.ts';
import { findRemains } from '../../../src/domain/backups/check-project.operations.ts';
import { readBackup, restoreBackup } from '../../../src/domain/backups/restore-backup.operations.ts';
import { permissionNames, systemActor } from '../../../src/kernel/actor.ts';
import { run } from '../../../src/kernel/run.ts';
import { systemCall } from '../../../src/server/first-run.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';
import { backUp } from '../../support/backups.ts';
import { makeBranch, seedPosts } from '../../support/conflict-site.ts';
import { temporaryDirectory } from '../../support/git-store.ts';

const app = shared(startTestApp);

beforeAll(async () => {
  await seedPosts(app);
  await makeBranch(app, 'topic');
});

const backedUp = () => backUp(app, 'site');

/** Changes files of a backup and makes its manifest agree, as a hand could. */
async function forge(directory: string, files: Record<string, string | null>): Promise<void> {
  const manifestFile = path.join(directory, 'portico-backup.json');
  const { checksum: _, ...manifest } = JSON.parse(await readFile(manifestFile, 'utf8'));
  for (const [name, text] of Object.entries(files)) {
    manifest.files = manifest.files.filter((file: { path: string }) => file.path !== name);
    if (text === null) continue;
    await writeFile(path.join(directory, name), text);
    const sha256 = createHash('sha256').update(text).digest('hex');
    manifest.files.push({ path: name, bytes: Buffer.byteLength(text), sha256 });
  }
  const checksum = createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
  await writeFile(manifestFile, JSON.stringify({ ...manifest, checksum }));
}

const restore = (directory: string, restored_project = 'copy') =>
  app.run(restoreBackup, { organization: 'acme', directory, restored_project }).then(
    () => null,
    (error: unknown) => error,
  );

async function expectNothingLeft(): Promise<void> {
  const { body } = await app.ask('GET', `${acme}/projects`);
  expect(body.map((project: { machine_name: string }) => project.machine_name)).toEqual(['site']);
  expect(await app.run(findRemains, {})).toEqual({ problems: [] });
}

const pullRow = {
  number: 1,
  title: 'A',
  body: '',
  state: 'open',
  draft: false,
  head_branch: 'topic',
  base_branch: 'main',
  head_sha: 'a'.repeat(40),
  base_sha: 'b'.repeat(40),
  author_id: 'token:1',
  author_name: 'Ada',
  merge_commit_sha: null,
  version: 1,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  merged_at: null,
  closed_at: null,
};

it.each<[string, (directory: string) => Promise<unknown>, RegExp]>([
  [
    'a row that is not JSON',
    (at) => forge(at, { 'rows/pull.jsonl': '{"number":' }),
    /^rows\/pull\.jsonl, line 1: is not JSON/,
  ],
  [
    'a row that is nested 10,000 levels deep',
    (at) => forge(at, { 'rows/pull.jsonl': `{"number":${'['.repeat(10_000)}${']'.repeat(10_000)}}` }),
    /^rows\/pull\.jsonl, line 1: is nested more than 300 levels deep/,
  ],
  [
    'a row with a wrong value',
    (at) =>
      forge(at, {
        'rows/pull.jsonl': `${JSON.stringify(pullRow)}\n${JSON.stringify({ ...pullRow, number: 'two' })}\n`,
      }),
    /^rows\/pull\.jsonl, line 2: number must be/,
  ],
  [
    'rows of an unknown table',
    (at) => forge(at, { 'rows/planet.jsonl': '{}' }),
    /^rows\/planet\.jsonl: is not known here; restore/,
  ],
  ['no row of the project', (at) => forge(at, { 'rows/project.jsonl': '' }), /^rows\/project\.jsonl: is empty/],
  ['no rows', (at) => forge(at, { 'rows/project.jsonl': null }), /^rows\/project\.jsonl: is no part of this backup/],
  [
    'no repository',
    (at) => forge(at, { 'repository/repository.json': null }),
    /^repository\/repository\.json: is no part/,
  ],
  [
    'another repository record',
    (at) => forge(at, { 'repository/repository.json': '{}' }),
    /^repository\.json: was not written by this version/,
  ],
  ['a missing file', (at) => rm(path.join(at, 'rows/project.jsonl')), /^rows\/project\.jsonl: is missing/],
])('refuses %s, and leaves nothing', async (_what, damage, message) => {
  const directory = await backedUp();
  await damage(directory);
  expect(await restore(directory)).toMatchObject({ code: 'invalid_request', message: expect.stringMatching(message) });
  await expectNothingLeft();
});

it('refuses objects that are damaged although the checksum agrees', async () => {
  const directory = await backedUp();
  const [name = ''] = (await readdir(path.join(directory, 'repository'))).filter((file) => file.endsWith('.bundle'));
  await forge(directory, { [`repository/${name}`]: '# v2 git bundle\nrubbish' });
  expect(await restore(directory)).toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(/^repository-.*\.bundle: does not hold \d+ whole refs; copy/),
  });
  await expectNothingLeft();
});

it.each([
  ['a repository', (place: string) => void execFileSync('git', ['init', '--quiet', '--bare', place])],
  ['a link', (place: string) => symlink('/etc/hostname', place)],
])('refuses %s in the place of the bundle', async (_what, put) => {
  const directory = await backedUp();
  const [name = ''] = (await readdir(path.join(directory, 'repository'))).filter((file) => file.endsWith('.bundle'));
  await forge(directory, { [`repository/${name}`]: null });
  const place = path.join(directory, 'repository', name);
  await rm(place);
  await put(place);
  expect(await restore(directory)).toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(/^repository-.*\.bundle: is no plain file; copy/),
  });
  await expectNothingLeft();
});

it('refuses a name that is taken, and rows that contradict each other', async () => {
  const directory = await backedUp();
  expect(await restore(directory, 'site')).toMatchObject({
    code: 'already_exists',
    message: 'project: site exists in this organisation; name another one',
  });
  const twice = `${JSON.stringify(pullRow)}\n`.repeat(2);
  await forge(directory, { 'rows/pull.jsonl': twice });
  expect(await restore(directory)).toMatchObject({
    code: 'invalid_request',
    message: 'rows/pull.jsonl: its rows contradict each other; take another backup',
  });
  await expectNothingLeft();
});

it('restores a backup from before a table was there', async () => {
  const directory = await backedUp();
  await forge(directory, { 'rows/pull.jsonl': null });
  expect(await restore(directory, 'older')).toBeNull();
  expect((await app.ask('GET', `${acme}/projects/older/studio/pulls`)).body).toEqual([]);
  expect((await app.ask('DELETE', `${acme}/projects/older`)).status).toBe(204);
});

it('is for those who run the server, and is written down', async () => {
  const someone = systemActor('editor', permissionNames, 'portico.test');
  const call = systemCall(app.services, someone);
  const directory = path.join(temporaryDirectory(), 'backup');
  const place = { organization: 'acme', project: 'site', directory };
  for (const operation of [backupProject, restoreBackup, readBackup, findRemains])
    await expect(run(operation as typeof backupProject, call, place)).rejects.toMatchObject({ code: 'forbidden' });
  await app.run(backupProject, place);
  await restore(directory, 'audited');
  const { body } = await app.ask('GET', `${acme}/audit?per_page=100`);
  const rows = body.map(({ action, subject_type, subject_id, outcome }: Record<string, string>) => [
    action,
    subject_type,
    subject_id,
    outcome,
  ]);
  expect(rows).toContainEqual(['backups.backupProject', 'project', 'site', 'ok']);
  expect(rows).toContainEqual(['backups.restoreBackup', 'project', 'audited', 'ok']);
  expect(rows).toContainEqual(['backups.backupProject', 'project', 'site', 'denied']);
});
