import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createLayout, readFormat, replaceLayout } from '../../../src/engines/git/layout.ts';
import { temporaryDirectory } from '../../support/git-store.ts';

/** An empty repository of SHA-1, the only thing in its directory. */
async function repository() {
  const directory = temporaryDirectory();
  const gitDir = path.join(directory, 'x.git');
  await createLayout(gitDir, 'main', 'sha1');
  return { gitDir, names: () => readdir(directory) };
}

/** What a writer leaves that is refused while there is no repository. */
const leave = (gitDir: string) => mkdirSync(path.join(gitDir, 'refs/heads'), { recursive: true });

it('an empty repository is replaced, whatever refused writers leave in its place', async () => {
  const { gitDir, names } = await repository();
  const isReplaced = await replaceLayout(gitDir, 'trunk', 'sha256', async (at) => {
    expect(at).not.toBe(gitDir);
    leave(gitDir);
    return true;
  });
  expect(isReplaced).toBe(true);
  expect(await readFormat(gitDir)).toBe('sha256');
  expect(readFileSync(path.join(gitDir, 'HEAD'), 'utf8')).toBe('ref: refs/heads/trunk\n');
  expect(await names()).toEqual(['x.git']);
});

it.each([
  ['has refs by then', async () => false],
  ['cannot be read', () => Promise.reject(new Error('unreadable'))],
])('a repository that %s is there again', async (_what, isEmpty) => {
  const { gitDir, names } = await repository();
  const ref = path.join(gitDir, 'refs/heads/main');
  writeFileSync(ref, 'of a writer\n');
  const isReplaced = await replaceLayout(gitDir, 'trunk', 'sha256', () => {
    leave(gitDir);
    return isEmpty();
  });
  expect(isReplaced).toBe(false);
  expect(readFileSync(ref, 'utf8')).toBe('of a writer\n');
  expect(await readFormat(gitDir)).toBe('sha1');
  expect(await names()).toEqual(['x.git']);
});
