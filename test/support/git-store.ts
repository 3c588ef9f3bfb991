import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { GitRepository } from '../../src/engines/git/repository.ts';
import { createGitStore, type GitStoreOptions } from '../../src/engines/git/store.ts';
import { createSpools } from '../../src/engines/spool/spool.ts';
import type { GitStore, Repository } from '../../src/ports/git.ts';
import type { Change, CommitRequest } from '../../src/ports/git-writes.ts';

export const writerOne = { name: 'Ada', email: 'ada@example.org' };

/** A directory that is gone after the test. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'portico-git-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Bytes of contents among changes, as they wait in memory for their commit. */
export const inMemory = (changes: readonly Change[]): number =>
  changes.reduce((sum, { content }) => sum + (Buffer.isBuffer(content) ? content.length : 0), 0);

/** What the commits of this process write until the test ends, and the bytes of it that wait in memory. */
export function watchCommits(): { files: number; inMemory: number }[] {
  const seen: { files: number; inMemory: number }[] = [];
  const { write, writeOnto } = GitRepository.prototype;
  const watched = <Request extends Pick<CommitRequest<unknown>, 'plan'>>(request: Request): Request => ({
    ...request,
    async plan(head, signal) {
      const plan = await request.plan(head, signal);
      // What has been made ahead of its turn was seen then.
      if (plan.fast_forward_to === undefined)
        seen.push({ files: plan.changes.length, inMemory: inMemory(plan.changes) });
      return plan;
    },
  });
  const spies = [
    vi.spyOn(GitRepository.prototype, 'write').mockImplementation(function (this: GitRepository, request) {
      return write.call(this, watched(request));
    }),
    vi.spyOn(GitRepository.prototype, 'writeOnto').mockImplementation(function (this: GitRepository, parent, request) {
      return writeOnto.call(this, parent, watched(request));
    }),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  return seen;
}

/**
 * Has a script run in the place of git until the test ends: `$git` is the real one, and `$here` a directory of the script's own.
 * @returns that directory
 */
export function replaceGit(script: string): string {
  const here = temporaryDirectory();
  const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  writeFileSync(join(here, 'git'), `#!/bin/sh\ngit=${real} here=${here}\n${script}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${here}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  return here;
}

/** Stock git with no configuration of the machine; stdout without the last newline. */
export function git(cwd: string, args: readonly string[], input?: string | Buffer): string {
  const env = {
    PATH: process.env.PATH,
    HOME: cwd,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Stock',
    GIT_AUTHOR_EMAIL: 'stock@example.org',
    GIT_COMMITTER_NAME: 'Stock',
    GIT_COMMITTER_EMAIL: 'stock@example.org',
    GIT_TERMINAL_PROMPT: '0',
  };
  const text = execFileSync('git', args, {
    cwd,
    env,
    // A history of 25,000 commits has more than the usual mebibyte.
    maxBuffer: 64 * 1024 * 1024,
    input: input ?? '',
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return text.replace(/\n$/, '');
}

export interface TestStore {
  store: GitStore;
  dataDir: string;
  /** The bare repository of an id. */
  path(id: string): string;
}

/** A store over a directory of its own; closed after the test. */
export function testStore(options: Partial<GitStoreOptions> = {}): TestStore {
  const dataDir = options.dataDir ?? temporaryDirectory();
  const log = { info() {}, warn() {}, error() {} };
  const committer = { name: 'Portico', email: 'portico@example.org' };
  const spools = createSpools(join(dataDir, 'spool'));
  const store = createGitStore({ log, spools, committer, now: () => new Date(), ...options, dataDir });
  onTestFinished(() => store.close());
  return { store, dataDir, path: (id) => join(dataDir, 'git', `${id}.git`) };
}

/** Writes files (null deletes) in one commit; the answer of `write`. */
export function save(
  repository: Repository,
  files: Record<string, string | null>,
  more: Partial<CommitRequest<unknown>> & { message?: string } = {},
) {
  const changes = Object.entries(files).map(([path, text]) => ({
    path,
    content: text === null ? null : Buffer.from(text),
  }));
  const { message = 'Change files', ...rest } = more;
  return repository.write({
    branch: 'main',
    author: writerOne,
    plan: async () => ({ changes, message, result: null as unknown }),
    ...rest,
  });
}

/** Fails with git's words when the repository is damaged. */
export function fsck(path: string): void {
  git(path, ['fsck', '--strict', '--no-dangling']);
}
