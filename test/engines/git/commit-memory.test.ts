import { describe, expect, it } from 'vitest';
import type { GitProcesses } from '../../../src/engines/git/git-process.ts';
import { formatCommit } from '../../../src/engines/git/objects/commit-codec.ts';
import type { ObjectReader } from '../../../src/engines/git/objects/object-reader.ts';
import { ObjectCaches } from '../../../src/engines/git/objects/object-source.ts';
import { StoredObjects } from '../../../src/engines/git/objects/stored-objects.ts';

const draft = (name: string, message: string) => ({
  tree: 'a'.repeat(40),
  parents: [],
  author: { name, email: 'a@example.org' },
  committer: { name: 'c', email: 'c@example.org' },
  date: new Date(0),
  message,
});

/** Objects of a repository in which every commit is the same, and how often one was read. */
function repositoryOf(content: Buffer) {
  const caches = new ObjectCaches();
  const read = { count: 0 };
  const reader = {
    async read(oid: string) {
      read.count += 1;
      return { oid, type: 'commit', size: content.length, content };
    },
  } as unknown as ObjectReader;
  const rest = { id: 'site', gitDir: '/nowhere', format: 'sha1' as const, processes: {} as GitProcesses };
  return { caches, read, objects: new StoredObjects({ ...rest, reader, caches }) };
}

const oid = (at: number) => at.toString(16).padStart(40, '0');

describe('commits that are remembered', () => {
  it('are bounded in bytes, whatever each of them holds', async () => {
    const names = 'ā'.repeat(200_000);
    const signature = Buffer.from(
      formatCommit(draft('a', 'm'))
        .toString()
        .replace('\n\n', `\ngpgsig ${'s'.repeat(400_000)}\n\n`),
    );
    for (const content of [formatCommit(draft(names, 'm')), formatCommit(draft('a', names)), signature]) {
      const { caches, objects } = repositoryOf(content);
      for (let at = 0; at < 200; at += 1) await objects.commit(oid(at));
      expect(caches.commits.size * content.length).toBeLessThanOrEqual(32 * 1024 * 1024);
    }
  });

  it('are ten thousand of an ordinary length', async () => {
    const { read, objects } = repositoryOf(
      formatCommit(draft('Ada Lovelace', 'Say what has changed and why.\n'.repeat(10))),
    );
    for (let at = 0; at < 10_000; at += 1) await objects.commit(oid(at));
    await objects.commit(oid(0));
    expect(read.count).toBe(10_000);
  });

  it('are bounded when they are remembered as they are written', () => {
    const { caches, objects } = repositoryOf(Buffer.alloc(0));
    const { author, committer, message } = draft('a', 'm'.repeat(65_536));
    const date = '1970-01-01T00:00:00Z';
    const commits = Array.from({ length: 1_000 }, (_, at) => ({
      ...{ sha: oid(at), tree_sha: oid(0), parents: [], message },
      ...{ author: { ...author, date }, committer: { ...committer, date } },
    }));
    objects.remember([], commits);
    expect(caches.commits.size * message.length).toBeLessThanOrEqual(32 * 1024 * 1024);
  });
});
