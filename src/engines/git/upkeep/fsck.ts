import type { FsckReport } from '../../../ports/git.ts';
import type { Config } from '../git-child.ts';
import type { GitProcesses } from '../git-process.ts';

/** Harmless old faults of real repositories; every other error of `git fsck` refuses the objects. */
const harmless = [
  'zeroPaddedFilemode',
  'badTimezone',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'missingNameBeforeEmail',
  'multipleAuthors',
  'zeroPaddedDate',
];

/** git's settings that pass over those faults: for `fetch.fsck`, `receive.fsck` or `fsck` itself. */
function harmlessFaults(prefix: string): Config {
  return harmless.map((fault) => [`${prefix}.${fault}`, 'ignore'] as const);
}

/** Checks every object received, by `fetch` or by a push (`receive`); packs are kept whole, so that they are synced as one. */
export function incomingObjects(side: 'fetch' | 'receive'): Config {
  return [[`${side}.fsckObjects`, 'true'], [`${side}.unpackLimit`, '1'], ...harmlessFaults(`${side}.fsck`)];
}

const wall = 2 * 3600_000;
const kept = 200;

/** Checks every object and every connection of a repository (git-fsck); harmless old faults are skipped. */
export async function fsck(processes: GitProcesses, gitDir: string, signal: AbortSignal): Promise<FsckReport> {
  const { code, stdout, stderr } = await processes.runNow(
    ['fsck', '--full', '--strict', '--no-dangling', '--no-progress'],
    { gitDir, timeout: wall, lowPriority: true, signal, config: harmlessFaults('fsck') },
  );
  const lines = `${stdout.toString('utf8')}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  // Notices stand among the errors; without an error they are no problem.
  return { ok: code === 0, problems: code === 0 ? [] : lines.slice(0, kept) };
}
