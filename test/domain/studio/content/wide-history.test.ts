import { describe, expect, it } from 'vitest';
import { LastCommits } from '../../../../src/domain/studio/content/last-commits.ts';
import type { CommitChanges, ContentCache } from '../../../../src/ports/content-cache.ts';
import type { Repository } from '../../../../src/ports/git.ts';
import type { Commit } from '../../../../src/ports/git-records.ts';
import type { Log } from '../../../../src/ports/log.ts';

const log = { info() {}, warn() {}, error() {} } as unknown as Log;
const marker = 'a'.repeat(40);
const main = 'b'.repeat(40);
const found = (sha: string) => ({ sha }) as Commit;

/** A history in which each of 1,000 commits changes the same files, and what was read of it. */
function wideHistory(files: number) {
  const paths = Array.from({ length: files }, (_, at) => `content/posts/p${at}.md`);
  const read = { paths: 0, lines: 0 };
  const git = {
    id: 'site',
    async *line(_head: string, without: string) {
      read.lines += 1;
      for (let at = 0; at < 1_000; at += 1) {
        read.paths += paths.length;
        yield { oid: at.toString(16).padStart(40, '0'), parents: at === 999 ? [without] : ['c'.repeat(40)], paths };
      }
    },
    defaultBranch: async () => 'main',
    head: async () => main,
    commit: async (oid: string) => found(oid),
    lastCommits: async (_head: string, wanted: readonly string[]) =>
      new Map(wanted.map((path) => [path, found('d'.repeat(40))])),
  } as unknown as Repository;
  const cache = {
    lastCommits: async () => ({ marker, commits: new Map() }),
    addCommits: async () => true,
    moveMarker: async (_id: string, _from: string, _to: string, _changes: CommitChanges) => true,
  } as unknown as ContentCache;
  return { git, read, commits: new LastCommits(cache, log) };
}

const branch = (at: number) => at.toString(16).padStart(40, 'e');

describe('last commits of a branch on which every commit changes a whole site', () => {
  it('are looked for by git, before all paths of all commits are in memory', async () => {
    const { git, read, commits } = wideHistory(50_000);
    const answer = await commits.of(git, branch(1), ['content/posts/p1.md']);
    expect(answer.get('content/posts/p1.md')?.sha).toBe('d'.repeat(40));
    expect(read.paths).toBeLessThanOrEqual(300_000);
  });

  it('are found on the way to it where that is narrow, and the way is remembered', async () => {
    const { git, read, commits } = wideHistory(20);
    for (const path of ['content/posts/p1.md', 'content/posts/p2.md']) {
      const answer = await commits.of(git, branch(1), [path]);
      expect(answer.get(path)?.sha).toBe('0'.repeat(40));
    }
    expect(read.lines).toBe(1);
  });
});
