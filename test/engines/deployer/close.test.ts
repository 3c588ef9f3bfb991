import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createDeployer } from '../../../src/engines/deployer/deployer.ts';

let root: string;
let directory: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'portico-close-'));
  await chmod(root, 0o711);
  directory = path.join(root, 'builds');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const owner = { deployment: 1, project: '0190c0de-0000-7000-8000-000000000001' };
const deployer = () => createDeployer({ directory, dataDirectory: path.join(root, 'data'), strict: false });

it('leaves no empty directory behind, and makes it again where another process needs it', async () => {
  const [first, second] = [deployer(), deployer()];
  await second.isolation();
  await (await first.open(owner)).remove();
  // Both have looked for it, and the one that made it removes it.
  await first.close();
  await second.close();
  expect(await readdir(root)).toEqual([]);
  const workspace = await first.open(owner);
  expect(await first.workspaces()).toEqual([1]);
  await first.close();
  expect(await first.workspaces()).toEqual([1]);
  await workspace.remove();
  await first.close();
  expect(await readdir(root)).toEqual([]);
});

it('leaves what it has not made, and caches', async () => {
  await deployer().close();
  const caching = deployer();
  const workspace = await caching.open(owner);
  await workspace.cache('key');
  await workspace.remove();
  await caching.close();
  expect((await stat(path.join(directory, 'cache', owner.project, 'key'))).isDirectory()).toBe(true);
  await rm(directory, { recursive: true });
  await mkdir(directory);
  const given = deployer();
  await (await given.open(owner)).remove();
  await given.close();
  expect(await readdir(root)).toEqual(['builds']);
});
