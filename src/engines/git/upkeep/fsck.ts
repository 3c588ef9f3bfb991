import type { FsckReport } from '../../../domain/ports/git.ts';
import type { GitProcesses } from '../git-process.ts';
import { harmlessFaults } from './fsck-policy.ts';

const wall = 2 * 3600_000;
const kept = 200;

/** Checks every object and every connection of a repository (git-fsck); old faults that harm nobody are passed over. */
export async function fsck(processes: GitProcesses, gitDir: string, signal: AbortSignal): Promise<FsckReport> {
  const { code, stdout, stderr } = await processes.runNow(
    ['fsck', '--full', '--strict', '--no-dangling', '--no-progress'],
    { gitDir, timeout: wall, lowPriority: true, signal, config: harmlessFaults('fsck') },
  );
  const lines = `${stdout.toString('utf8')}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  // Notices stand among the errors; without an error they are no problem.
  return { ok: code === 0, problems: code === 0 ? [] : lines.slice(0, kept) };
}
