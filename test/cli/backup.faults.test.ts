import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { git, temporaryDirectory } from '../support/git-store.ts';
import { demoStudio, restClient } from '../support/rest-client.ts';
import {
  demoDataDir,
  newDataDir,
  portico,
  postmasterPid,
  settingsFor,
  startServer,
} from '../support/server-process.ts';

// Each command is a process that may start a database, on a machine that does other things as well.
async function repositoryOf(dataDir: string): Promise<string> {
  const [name = ''] = (await readdir(path.join(dataDir, 'git'))).filter((file) => file.endsWith('.git'));
  return path.join(dataDir, 'git', name);
}

test('all projects of a running server are backed up, and restored into a new one', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const settings = settingsFor(dataDir);
  const target = path.join(temporaryDirectory(), 'tonight');
  expect((await portico(['organization', 'create', 'empty'], settings)).code).toBe(0);
  const written = await portico(['backup', '--all', 'tonight'], settings, path.dirname(target));
  expect(written).toMatchObject({ code: 0, stderr: '' });
  expect(written.stdout).toMatch(/^demo\/site: Reading rows\n/);
  expect(written.stdout).toMatch(/^Backed up demo\/site to .*\/tonight\/demo\/site: 1 ref, [\d.]+ KiB$/m);
  expect(await readdir(target)).toEqual(['demo']);
  const manifest = JSON.parse(await readFile(path.join(target, 'demo/site/portico-backup.json'), 'utf8'));
  const { version } = JSON.parse(await readFile(path.join(import.meta.dirname, '../../package.json'), 'utf8'));
  expect(manifest).toMatchObject({ format: 1, product_version: version, project: { organization: 'demo' } });
  const again = await portico(['backup', '--all', target], settings);
  expect(again).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/demo\/site: .* exists already; name a dir.*\n.*1 of/),
  });

  const expected = (await restClient(server.url, token).get(`${demoStudio}/collections/posts`)).body;
  const fresh = settingsFor(await newDataDir());
  const restored = await portico(['restore', path.join(target, 'demo/site'), '--project', 'copy'], fresh);
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  expect(restored.stdout).toMatch(/^Created organisation demo$/m);
  expect(restored.stdout).toMatch(/^Restored demo\/copy from the backup of demo\/site from 20.*Z: 1 ref$/m);
  const other = await startServer(fresh.PORTICO_DATA_DIR ?? '', { PORTICO_DEMO: 'off' });
  const made = await portico(['token', 'create', '--organization', 'demo', '--preset', 'readonly'], fresh);
  const { body } = await restClient(other.url, made.stdout.trim()).get(
    '/organizations/demo/projects/copy/studio/collections/posts',
  );
  expect(body).toEqual(expected);
});

test('restore refuses a project that is there and a damaged file, in one line each', async () => {
  const { dataDir } = await demoDataDir();
  const settings = settingsFor(dataDir);
  const directory = path.join(temporaryDirectory(), 'site');
  expect((await portico(['backup', 'demo/site', directory], settings)).code).toBe(0);
  const taken = await portico(['restore', directory], settings);
  const stderr = 'portico: project: site exists in this organisation; name another one\n';
  expect(taken).toMatchObject({ code: 1, stderr });
  await appendFile(path.join(directory, 'rows/project.jsonl'), ' ');
  const damaged = await portico(['restore', directory, '--organization', 'new', '--project', 'copy'], settings);
  expect(damaged.stderr).toMatch(
    /^portico: rows\/project\.jsonl: has \d+ bytes, not the \d+ it was written with; copy the b.*\n$/,
  );
  expect((await portico(['check', 'new/copy'], settings)).stderr).toBe('portico: Organisation not found\n');
  expect(await postmasterPid(dataDir)).toBeNull();
});

test('check reports a damaged object, a repository without a project and one that is gone, and changes nothing', async () => {
  const { dataDir } = await demoDataDir();
  const settings = settingsFor(dataDir);
  const sound = await portico(['check', '--json'], settings);
  expect({ ...sound, stdout: JSON.parse(sound.stdout) }).toEqual({
    code: 0,
    stderr: '',
    stdout: {
      ok: true,
      checked: ['demo/site', 'data directory', 'keyring'].map((subject) => ({ subject, problems: [] })),
    },
  });
  const repository = await repositoryOf(dataDir);
  const oid = git(repository, ['hash-object', '-w', '--stdin'], 'something that stands alone');
  await rm(path.join(repository, 'objects', oid.slice(0, 2), oid.slice(2)));
  await writeFile(path.join(repository, 'objects', oid.slice(0, 2), oid.slice(2)), 'rubbish');
  git(path.dirname(repository), ['init', '--quiet', '--bare', '00000000-0000-4000-8000-000000000000.git']);
  const found = await portico(['check'], settings);
  expect(found).toMatchObject({ code: 1, stderr: expect.stringMatching(/^portico: \d+ problems found\n$/) });
  expect(found.stdout).toMatch(new RegExp(`^demo/site: \\d+ problems?\\n(.*\\n)*.*${oid}`, 'm'));
  expect(found.stdout).toMatch(/^ {4}What to do: restore a backup as a new project; or remove/m);
  expect(found.stdout).toMatch(/^data directory: 1 problem\n {2}git\/0{8}-.*\.git has no project$/m);
  await rm(repository, { recursive: true });
  const gone = await portico(['check', 'demo/site'], settings);
  expect(gone).toMatchObject({ code: 1, stderr: 'portico: 1 problem found\n' });
  expect(gone.stdout).toMatch(/its repository git\/.*\.git is not there$/m);
});
