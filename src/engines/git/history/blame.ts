/**
 * Which commit each line of a file is from (git-blame). git names lines as it finds them, those of the newest commits first, so what it has found
 * when its time is over is an answer, too: the rest is older.
 */
import { createInterface } from 'node:readline';
import { DomainError } from '../../../kernel/errors.ts';
import { currentCaller } from '../../../lib/concurrency.ts';
import type { Blame, BlamedLines, BlameQuery } from '../../../ports/git-records.ts';
import type { GitProcesses } from '../git-process.ts';
import { isOid } from '../objects/object-id.ts';

/** A group of lines: commit, line in that commit's file, line in the file, number of lines. Other lines are what is known of the commit. */
const group = /^([0-9a-f]{40}|[0-9a-f]{64}) \d+ (\d+) (\d+)$/;

/** Neighbouring lines of one commit become one group. */
function joined(found: readonly BlamedLines[]): BlamedLines[] {
  const groups: BlamedLines[] = [];
  for (const next of found.toSorted((one, other) => one.first - other.first)) {
    const before = groups.at(-1);
    if (before?.commit === next.commit && before.last + 1 === next.first) before.last = next.last;
    else groups.push({ ...next });
  }
  return groups;
}

/**
 * @param time milliseconds after which git is ended
 * @throws DomainError `repository_unavailable` when git fails, `too_large` when it needs more memory than it may take
 */
export async function blame(
  processes: GitProcesses,
  gitDir: string,
  { commit, path, first, last }: BlameQuery,
  time: number,
): Promise<Blame> {
  if (!isOid(commit)) throw new DomainError('not_found', 'No such commit');
  const args = ['blame', '--incremental', '-L', `${first},${last}`, commit, '--', path];
  const search = async () => {
    const child = processes.spawn(args, { gitDir, timeout: time, lowPriority: true, shared: true });
    child.streams.stdin.end();
    const found: BlamedLines[] = [];
    try {
      for await (const line of createInterface({ input: child.streams.stdout })) {
        const [, oid, start, count] = group.exec(line) ?? [];
        if (oid !== undefined)
          found.push({ commit: oid, first: Number(start), last: Number(start) + Number(count) - 1 });
      }
      const { code, ended, over, stderr } = await child.exited;
      const stopped = ended ?? over;
      if (stopped && !(stopped instanceof DomainError && stopped.code === 'git_timeout')) throw stopped;
      if (!stopped && code !== 0)
        throw new DomainError('repository_unavailable', 'The history could not be read', { cause: new Error(stderr) });
      return { lines: joined(found), isComplete: !stopped };
    } finally {
      child.kill(null);
    }
  };
  return processes.blames.run(currentCaller(), search);
}
