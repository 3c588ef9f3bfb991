import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { BranchLock } from '../../../src/engines/git/commits/branch-lock.ts';
import { DomainError } from '../../../src/kernel/errors.ts';
import { fsck, git, save, testStore, writerOne } from '../../support/git-store.ts';

async function fresh() {
  const made = testStore();
  return { ...made, repository: await made.store.create('site', 'main'), gitDir: made.path('site') };
}

function history(gitDir: string): string[] {
  return git(gitDir, ['rev-list', 'main']).split('\n');
}

describe('writers of one branch', () => {
  it.each([
    ['the same file', () => 'same.md'],
    ['adjacent files', (writer: number) => `d/${writer}.md`],
    ['different directories', (writer: number) => `d${writer}/a.md`],
  ])('16 at once on %s lose nothing', async (_, pathOf) => {
    const { repository, gitDir } = await fresh();
    const shas: string[] = [];
    await Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        for (let turn = 0; turn < 8; turn += 1) {
          const { commit } = await save(repository, { [pathOf(writer)]: `${writer} ${turn}` });
          shas.push(commit?.sha ?? '');
        }
      }),
    );
    expect(new Set(shas).size).toBe(128);
    expect(new Set(history(gitDir))).toEqual(new Set(shas));
    fsck(gitDir);
  });

  it('each see those before them, and one that refuses disturbs no other', async () => {
    const { repository, gitDir } = await fresh();
    await save(repository, { count: '0' });
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, (_, writer) =>
        repository.write({
          branch: 'main',
          author: writerOne,
          plan: async (head) => {
            const { entry } = await head.lookup('count');
            const count = Number(await head.blob(entry?.oid ?? ''));
            if (writer % 4 === 3) throw new DomainError('precondition_failed', 'not this one');
            const files = (await head.files()).length;
            const changes = [
              { path: 'count', content: Buffer.from(`${count + 1}`) },
              { path: `w/${writer}`, content: Buffer.from('x') },
            ];
            return { changes, message: 'm', result: { count, files } };
          },
        }),
      ),
    );
    const done = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value.result);
    expect(done.map(({ count }) => count)).toEqual(Array.from({ length: 30 }, (_, at) => at));
    expect(done.map(({ files }) => files)).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
    for (const [at, result] of results.entries())
      if (at % 4 === 3) expect(result).toMatchObject({ reason: { code: 'precondition_failed' } });
    expect(git(gitDir, ['show', 'main:count'])).toBe('30');
    fsck(gitDir);
  });

  it('plan again when another process moves the branch', async () => {
    const { repository, gitDir } = await fresh();
    await save(repository, { a: '1' });
    const heads: (string | null)[] = [];
    const push = (name: string) => {
      const tree = git(
        gitDir,
        ['mktree'],
        `${git(gitDir, ['ls-tree', 'main'])}\n100644 blob ${git(gitDir, ['hash-object', '-w', '--stdin'], name)}\t${name}\n`,
      );
      const commit = git(gitDir, ['commit-tree', tree, '-p', 'main', '-m', name]);
      git(gitDir, ['update-ref', 'refs/heads/main', commit]);
      return commit;
    };
    let theirs = '';
    const { commit } = await repository.write({
      branch: 'main',
      author: writerOne,
      plan: async (head) => {
        heads.push(head.commit);
        if (heads.length <= 2) theirs = push(`their-${heads.length}`);
        return { changes: [{ path: 'mine', content: Buffer.from('1') }], message: 'mine', result: null };
      },
    });
    expect(heads).toHaveLength(3);
    expect(commit?.parents).toEqual([theirs]);
    expect(git(gitDir, ['ls-tree', '--name-only', 'main'])).toBe('a\nmine\ntheir-1\ntheir-2');
    fsck(gitDir);
  });

  it('fail when the branch never stops moving', async () => {
    const { repository, gitDir } = await fresh();
    const { snapshot } = await save(repository, { a: '1' });
    let rounds = 0;
    const answer = repository.write({
      branch: 'main',
      author: writerOne,
      plan: async () => {
        rounds += 1;
        const commit = git(gitDir, ['commit-tree', snapshot.tree ?? '', '-p', 'main', '-m', `${rounds}`]);
        git(gitDir, ['update-ref', 'refs/heads/main', commit]);
        return { changes: [{ path: 'mine', content: Buffer.from('1') }], message: 'mine', result: null };
      },
    });
    await expect(answer).rejects.toMatchObject({ code: 'branch_moved' });
    expect(rounds).toBe(10);
    fsck(gitDir);
  });

  it('in three stores that know nothing of each other lose nothing, and none is refused', async () => {
    const { repository, gitDir, dataDir } = await fresh();
    await save(repository, { a: '1' });
    const others = [1, 2].map(() => testStore({ dataDir }).store.open('site'));
    const shas = await Promise.all(
      [repository, ...others].flatMap((side, at) =>
        Array.from({ length: 16 }, async (_, writer) => {
          const made: string[] = [];
          for (let turn = 0; turn < 6; turn += 1)
            made.push((await save(side, { [`${at}/${writer}`]: `${turn}` })).commit?.sha ?? '');
          return made;
        }),
      ),
    );
    const stored = history(gitDir);
    expect(stored).toHaveLength(1 + 3 * 16 * 6);
    expect(new Set(stored)).toEqual(new Set([...shas.flat(), stored.at(-1)]));
    fsck(gitDir);
  });

  it('do not wait for dead processes, and leave nothing behind', async () => {
    const { store, repository, gitDir } = await fresh();
    await save(repository, { a: '1' });
    const locks = join(gitDir, 'portico/locks');
    expect(existsSync(locks)).toBe(false);
    const lock = join(locks, createHash('sha256').update('main').digest('hex'));
    mkdirSync(locks, { recursive: true });
    // Of a process that was killed while it held the lock.
    writeFileSync(lock, '');
    expect((await save(repository, { a: '2' })).commit).not.toBeNull();
    await store.close();
    expect(readdirSync(locks)).toEqual([]);
  });

  it('wait for the turn of one who lives', async () => {
    const { store, repository, gitDir } = await fresh();
    await save(repository, { a: '1' });
    const giveBack = await new BranchLock(gitDir).take('main', true);
    let saved = false;
    const saving = save(repository, { a: '2' }).then(() => {
      saved = true;
    });
    // Longer than a turn without a sign of life is respected.
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(saved).toBe(false);
    await giveBack?.();
    await saving;
    // A writer has its answer before the lock is released; the store closes after that.
    await store.close();
    expect(await new BranchLock(gitDir).take('main', false)).toBeNull();
  });
});

describe('a server killed while it writes', () => {
  it('has stored every commit it acknowledged', async () => {
    const { store, repository, gitDir, dataDir } = await fresh();
    await save(repository, { a: '1' });
    await store.close();
    const acknowledged: string[] = [];
    for (const [round, enough] of [3, 17, 40].entries()) {
      const script = join(dirname(import.meta.dirname), '../support/git-writer.ts');
      const child = spawn(process.execPath, [script, dataDir, 'site', String(1 + round * 5)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const closed = once(child, 'close');
      let seen = 0;
      for await (const line of createInterface({ input: child.stdout })) {
        acknowledged.push(line);
        seen += 1;
        if (seen === enough) child.kill('SIGKILL');
      }
      await closed;
      fsck(gitDir);
    }
    const stored = new Set(history(gitDir));
    for (const sha of acknowledged) expect(stored).toContain(sha);
    expect(acknowledged.length).toBeGreaterThanOrEqual(60);
    const after = testStore({ dataDir }).store.open('site');
    expect((await save(after, { after: '1' })).commit).not.toBeNull();
  });
});
