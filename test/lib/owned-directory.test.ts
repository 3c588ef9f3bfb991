import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readdir, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { clearOwnedDirectories, type OwnedDirectory, openOwnedDirectory } from '../../src/lib/owned-directory.ts';

const prefix = 'portico-owned-test-';

const isThere = (place: string) =>
  access(place).then(
    () => true,
    () => false,
  );
const fill = async (directory: string) => {
  await mkdir(path.join(directory, 'profile'), { recursive: true });
  await writeFile(path.join(directory, 'profile/Local State'), '{}');
};

/** A process that has a directory, until it is killed. */
async function otherProcess() {
  const module = new URL('../../src/lib/owned-directory.ts', import.meta.url).href;
  const program = `import { openOwnedDirectory } from '${module}';
    setInterval(() => {}, 1000); console.log(JSON.stringify(await openOwnedDirectory('${prefix}')));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  const { path: directory } = JSON.parse(said.toString()) as OwnedDirectory;
  return { child, directory };
}

it('what a process has left is removed once it was killed, and not before', async () => {
  const mine = await openOwnedDirectory(prefix);
  const { child, directory } = await otherProcess();
  try {
    await fill(directory);
    await clearOwnedDirectories(prefix);
    expect(await readdir(directory)).toEqual(['owner', 'profile']);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await clearOwnedDirectories(prefix);
  expect(await isThere(directory)).toBe(false);
  expect(await isThere(mine.path)).toBe(true);
  await mine.remove();
  await mine.remove();
  expect(await isThere(mine.path)).toBe(false);
});

it('one that is just being made stays, and one that never was goes', async () => {
  const made = await mkdtemp(path.join(tmpdir(), prefix));
  await clearOwnedDirectories(prefix);
  expect(await isThere(made)).toBe(true);
  const longAgo = new Date(Date.now() - 3600_000);
  await utimes(made, longAgo, longAgo);
  await clearOwnedDirectories(prefix);
  expect(await isThere(made)).toBe(false);
});

it('none is removed where names cannot be read', async () => {
  vi.stubEnv('TMPDIR', path.join(tmpdir(), `${prefix}nowhere`));
  await expect(clearOwnedDirectories(prefix)).resolves.toBeUndefined();
  vi.unstubAllEnvs();
});
