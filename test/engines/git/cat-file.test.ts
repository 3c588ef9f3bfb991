import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GitProcesses } from '../../../src/engines/git/git-process.ts';
import { CatFile } from '../../../src/engines/git/objects/cat-file.ts';
import { git, save, testStore } from '../../support/git-store.ts';

const mebibyte = 1024 * 1024;

it('a process ends although the reader of many contents has gone away', async () => {
  const { store, path } = testStore();
  const repository = await store.create('site', 'main');
  const names = Array.from({ length: 24 }, (_, n) => `${n}.txt`);
  await save(repository, Object.fromEntries(names.map((name) => [name, name.padEnd(mebibyte, 'x')])));
  const oids = git(path('site'), ['rev-parse', ...names.map((name) => `main:${name}`)])
    .split('\n')
    .slice(0, 24);
  const processes = new GitProcesses(mkdtempSync(join(tmpdir(), 'portico-home-')));
  const reader = new CatFile(processes, path('site'));
  const answers = oids.map((oid) => reader.ask(oid, true, true));
  for (const answer of answers) answer.catch(() => {});
  // One more than is held for a slow consumer: the process waits from here on.
  await Promise.all(answers.slice(0, 17));
  await reader.close();
  await expect(answers.at(-1)).rejects.toThrow();
  await processes.close();
});
