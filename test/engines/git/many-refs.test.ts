import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { RefFiles } from '../../../src/engines/git/refs/ref-files.ts';

const open = { now: 0, most: 0 };
vi.mock('node:fs/promises', async (original) => {
  const actual = await original<typeof import('node:fs/promises')>();
  const readFile = async (...given: Parameters<typeof actual.readFile>) => {
    open.most = Math.max(open.most, ++open.now);
    return actual.readFile(...given).finally(() => {
      open.now -= 1;
    });
  };
  return { ...actual, readFile };
});

it('are listed with a bounded number of open files, however many lists are read at once', async () => {
  const gitDir = await mkdtemp(join(tmpdir(), 'portico-refs-'));
  await mkdir(join(gitDir, 'refs/heads'), { recursive: true });
  const oid = 'a'.repeat(40);
  for (let at = 0; at < 300; at += 1) await writeFile(join(gitDir, 'refs/heads', `b${at}`), `${oid}\n`);
  const lists = await Promise.all(Array.from({ length: 5 }, () => new RefFiles(gitDir).list('refs/heads')));
  expect(lists.map((refs) => refs.length)).toEqual([300, 300, 300, 300, 300]);
  expect(open.most).toBeLessThanOrEqual(64);
  await rm(gitDir, { recursive: true });
});
