import { DomainError } from '../../../kernel/errors.ts';
import type { Commit, LineCommit, Oid } from '../../../ports/git-records.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { records } from '../git-stream.ts';
import { isOid } from '../objects/object-id.ts';
import type { ObjectSource } from '../objects/object-source.ts';

/** Commits looked at before the question is left to git, which has an index for long histories. */
const horizon = 256;

const ours = 1;
const theirs = 2;
/** Below a common ancestor: of no interest any more. */
const stale = 4;

interface Seen {
  commit: Commit;
  flags: number;
  /** Commit time, seconds. */
  time: number;
}

/**
 * Best common ancestors of two commits, found by walking both histories from their newest commits on, as git does (merge-base, "paint down
 * to common").
 * @returns null when the histories have to be followed too far, or are missing in part: git has to say
 */
export async function commonAncestors(objects: Pick<ObjectSource, 'commit'>, a: Oid, b: Oid): Promise<Oid[] | null> {
  if (a === b) return [a];
  const seen = new Map<Oid, Seen>();
  const queue: Seen[] = [];
  const visit = async (oid: Oid, flags: number) => {
    const known = seen.get(oid);
    if (known) {
      if ((known.flags & flags) === flags) return;
      known.flags |= flags;
      if (!queue.includes(known)) queue.push(known);
      return;
    }
    const commit = await objects.commit(oid);
    const made = { commit, flags, time: Date.parse(commit.committer.date) };
    seen.set(oid, made);
    queue.push(made);
  };
  await visit(a, ours);
  await visit(b, theirs);
  const found = new Set<Seen>();
  while (queue.some(({ flags }) => (flags & stale) === 0)) {
    if (seen.size > horizon) return null;
    const next = takeNewest(queue);
    let passed = next.flags & (ours | theirs | stale);
    if ((next.flags & (ours | theirs)) === (ours | theirs)) {
      if ((next.flags & stale) === 0) found.add(next);
      passed |= stale;
    }
    for (const parent of next.commit.parents) await visit(parent, passed);
  }
  return [...found].filter(({ flags }) => (flags & stale) === 0).map(({ commit }) => commit.sha);
}

function takeNewest(queue: Seen[]): Seen {
  let at = 0;
  for (const [index, seen] of queue.entries()) if (seen.time > (queue[at]?.time ?? 0)) at = index;
  const [newest] = queue.splice(at, 1);
  if (!newest) throw new Error('the queue is empty');
  return newest;
}

const args = [
  'log',
  '--first-parent',
  '--diff-merges=first-parent',
  '--no-renames',
  '--name-only',
  '-z',
  '--format=tformat:%x00%H %P',
  '--stdin',
];

/** The first-parent line of a commit, newest first, without what another one reaches; git is stopped when the consumer stops. */
export async function* firstParentLine(
  processes: GitProcesses,
  gitDir: string,
  head: Oid,
  without: Oid | null,
): AsyncGenerator<LineCommit> {
  if (!isOid(head) || (without !== null && !isOid(without))) throw new DomainError('not_found', 'No such commit');
  const child = await processes.start(args, { gitDir, timeout: wallTime.read });
  child.streams.stdin.end(without === null ? `${head}\n` : `${head}\n^${without}\n`);
  let isRead = false;
  try {
    yield* commitsIn(child.streams.stdout);
    isRead = true;
  } finally {
    if (!isRead) child.kill(null);
  }
  const { ended, code, stderr, over } = await child.exited;
  if (ended !== null) throw ended;
  if (over !== null) throw over;
  if (code !== 0) throw new DomainError('repository_unavailable', 'The history could not be read', { cause: stderr });
}

/** An empty record stands before each commit's; the first path stands on a line of its own. */
async function* commitsIn(stdout: AsyncIterable<Buffer>): AsyncGenerator<LineCommit> {
  let commit: LineCommit | null = null;
  let isHeader = false;
  for await (const tokens of records(stdout)) {
    for (const token of tokens) {
      if (token === '') isHeader = true;
      else if (isHeader) {
        if (commit) yield commit;
        const [oid = '', ...parents] = token.trim().split(' ');
        commit = { oid, parents, paths: [] };
        isHeader = false;
      } else if (commit) commit.paths.push(commit.paths.length === 0 ? token.replace(/^\n/, '') : token);
    }
  }
  if (commit) yield commit;
}
