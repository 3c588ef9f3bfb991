import { mkdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hydrateSymlinks } from '../../../src/db/postgres/binaries.ts';
import { temporaryDataDir } from './harness.ts';

test('symbolic links a skipped install script has not made are made', async () => {
  const root = await temporaryDataDir();
  await mkdir(join(root, 'native', 'lib'), { recursive: true });
  await writeFile(join(root, 'native', 'lib', 'libpq.so.5.18'), 'library');
  const links = ['libpq.so', 'libpq.so.5'].map((name) => ({
    source: 'native/lib/libpq.so.5.18',
    target: `native/lib/${name}`,
  }));
  await writeFile(join(root, 'native', 'pg-symlinks.json'), JSON.stringify(links));
  await Promise.all([hydrateSymlinks(root), hydrateSymlinks(root)]);
  await hydrateSymlinks(root);
  expect(await readlink(join(root, 'native', 'lib', 'libpq.so'))).toBe('libpq.so.5.18');
  expect(await readFile(join(root, 'native', 'lib', 'libpq.so.5'), 'utf8')).toBe('library');
});
