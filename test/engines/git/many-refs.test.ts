import fs from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RefFiles } from '../../../src/engines/git/refs/ref-files.ts';

const [oid, other] = ['a'.repeat(40), 'b'.repeat(40)];
const count = { reads: 0 };

/** Counts calls of a function of a module of Node, also where it was imported before. */
function counted<Name extends string>(module: Record<Name, (...given: never[]) => unknown>, name: Name): void {
  const actual = module[name];
  vi.spyOn(module as Record<string, (...given: unknown[]) => unknown>, name).mockImplementation((...given) => {
    count.reads += 1;
    return actual(...(given as never[]));
  });
}

let gitDir: string;
beforeEach(async () => {
  gitDir = await mkdtemp(join(tmpdir(), 'portico-refs-'));
  await mkdir(join(gitDir, 'refs/heads'), { recursive: true });
  count.reads = 0;
  counted(fs, 'readFileSync');
  counted(fs.promises, 'readFile');
  syncBuiltinESMExports();
});
afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await rm(gitDir, { recursive: true });
});

const put = (name: string, value = oid) => writeFile(join(gitDir, 'refs/heads', name), `${value}\n`);

it('are read twice at most, however many lists are requested at once', async () => {
  for (let at = 0; at < 300; at += 1) await put(`b${at}`);
  const refs = new RefFiles(gitDir);
  const lists = await Promise.all(Array.from({ length: 50 }, () => refs.list('refs/heads')));
  expect(new Set(lists.map((list) => list.length))).toEqual(new Set([300]));
  expect(count.reads).toBeLessThanOrEqual(2 * 301);
});

it('that are packed are looked for in no file of their own', async () => {
  const lines = Array.from({ length: 300 }, (_, at) => `${oid} refs/heads/b${at}\n`);
  await writeFile(join(gitDir, 'packed-refs'), `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`);
  await put('b7', other);
  const found = await new RefFiles(gitDir).list('refs/heads');
  expect(found).toHaveLength(300);
  expect(found.find(({ name }) => name === 'refs/heads/b7')?.oid).toBe(other);
  expect(count.reads).toBe(2);
});

it('are in a list that was requested after they were made, though another list was under way', async () => {
  for (let at = 0; at < 300; at += 1) await put(`b${at}`);
  const refs = new RefFiles(gitDir);
  const under = refs.list('refs/heads');
  await put('new');
  const lists = await Promise.all([refs.list('refs/heads'), refs.list('refs/heads')]);
  await under;
  for (const list of lists) expect(list.map(({ name }) => name)).toContain('refs/heads/new');
});

it('below different prefixes are listed apart', async () => {
  await put('main');
  await mkdir(join(gitDir, 'refs/tags'));
  await writeFile(join(gitDir, 'refs/tags/v1'), `${oid}\n`);
  const refs = new RefFiles(gitDir);
  const lists = await Promise.all(['refs/heads', 'refs/tags', 'refs/pull'].map((prefix) => refs.list(prefix)));
  expect(lists.map((list) => list.map(({ name }) => name))).toEqual([['refs/heads/main'], ['refs/tags/v1'], []]);
});
