import { DomainError } from '../../../domain/errors.ts';
import type { LineCommit, Oid } from '../../../domain/ports/git-records.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { records } from '../nul-records.ts';
import { isOid } from '../objects/object-id.ts';

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

/** The first-parent line of a commit, newest first, without what another one reaches; git is stopped as soon as nobody reads on. */
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
