import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { buildLimits } from '../../../src/engines/deployer/limits.ts';
import { walkOutput, writeTree } from '../../../src/engines/deployer/workspace.ts';
import type { WorkspaceFile } from '../../../src/ports/deployer.ts';

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'portico-tree-')));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(...files: string[]): Promise<void> {
  for (const file of files) {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), file);
  }
}
const walk = (directory: string, limits = {}) => walkOutput(root, directory, { ...buildLimits, ...limits });

it('finds plain files in order, and refuses links by name', async () => {
  await put('dist/b.html', 'dist/a/c.css', 'dist/B.html', 'secret.txt');
  await symlink('../secret.txt', path.join(root, 'dist/inside'));
  await symlink('/etc', path.join(root, 'dist/etc'));
  const output = await walk('dist');
  expect(output).toMatchObject({
    files: [{ path: 'B.html' }, { path: 'a/c.css' }, { path: 'b.html' }],
    refused: ['etc', 'inside'],
  });
});

it('refuses names that are not UTF-8, and publishes what has the name they are read as', async () => {
  await put('dist/bad\ufffd', 'dist/index.html');
  const at = (...names: Buffer[]) => Buffer.concat([Buffer.from(`${root}/dist/`), ...names]);
  const name = Buffer.from([0x62, 0x61, 0x64, 0xff]);
  await writeFile(at(name), 'other');
  await mkdir(at(Buffer.from([0xfe])));
  await writeFile(at(Buffer.from([0xfe]), Buffer.from('/below')), 'below');
  expect(await walk('dist')).toMatchObject({
    files: [{ path: 'bad\ufffd', size: 'dist/bad\ufffd'.length + 2 }, { path: 'index.html' }],
    refused: ['bad\ufffd', '\ufffd'],
  });
});

it('distinguishes why there is nothing to publish', async () => {
  await put('file');
  await mkdir(path.join(root, 'empty'));
  await symlink('/etc', path.join(root, 'out'));
  expect(await walk('dist')).toMatchObject({ problem: 'missing' });
  expect(await walk('file')).toMatchObject({ problem: 'missing' });
  expect(await walk('out')).toMatchObject({ problem: 'outside' });
  expect(await walk('..')).toMatchObject({ problem: 'outside' });
  expect(await walk('empty')).toMatchObject({ problem: 'empty' });
});

it('holds outputs to their limits, on both sides', async () => {
  await put('dist/12345', 'dist/67890');
  const size = 'dist/12345'.length;
  expect(await walk('dist', { outputFiles: 1 })).toMatchObject({ problem: 'too_many_files' });
  expect(await walk('dist', { outputFiles: 2 })).toMatchObject({ files: [{}, {}] });
  expect(await walk('dist', { outputFileBytes: size - 1 })).toMatchObject({ problem: 'file_too_large' });
  expect(await walk('dist', { outputFileBytes: size })).toMatchObject({ files: [{}, {}] });
  expect(await walk('dist', { outputBytes: 2 * size - 1 })).toMatchObject({ problem: 'too_large' });
  expect(await walk('dist', { outputBytes: 2 * size })).toMatchObject({ files: [{}, {}] });
});

it('writes links last, and leaves out those that lead out, by whatever way', async () => {
  const link = (at: string, target: string): WorkspaceFile => ({
    path: at,
    kind: 'link',
    content: Buffer.from(target),
  });
  async function* files() {
    yield link('absolute', '/etc/passwd');
    yield link('up', '../outside');
    yield link('a/b/c/top', '../../..');
    yield link('through', 'a/b/c/top/..');
    yield link('fine', 'a/b/file');
    yield link('later', 'made/by/the/build');
    yield { path: 'a/b/file', kind: 'executable', content: Buffer.from('x') } satisfies WorkspaceFile;
  }
  expect((await writeTree(root, files())).sort()).toEqual(['absolute', 'through', 'up']);
});
