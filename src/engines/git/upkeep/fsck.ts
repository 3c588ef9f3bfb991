import { DomainError } from '../../../kernel/errors.ts';
import type { FsckReport } from '../../../ports/git.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type { Config } from '../git-child.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { gitStream } from '../git-stream.ts';
import type { ObjectPlace } from '../incoming/large-blobs.ts';

/**
 * Harmless old faults of real repositories; every other error of `git fsck` refuses the objects. Other hosts and clients may refuse these too, so
 * that only a manager brings in more of them by a push.
 */
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

/** Objects of one pack of which faults are kept; longer histories are a manager's matter. */
const mostFaulty = 100_000;

/**
 * Which objects of a pack have harmless old faults, with git's name and words for the first of each (git-index-pack, "--strict").
 *
 * @throws DomainError `too_large` for more of them than one push may bring, `git_timeout`
 */
export async function harmlessFaultsOf(place: ObjectPlace, pack: string): Promise<Map<Oid, string>> {
  const { processes, ...rest } = place;
  const found = new Map<Oid, string>();
  const stop = new AbortController();
  let open = '';
  const onStderr = (text: string) => {
    const lines = (open + text).split('\n');
    open = lines.pop() ?? '';
    for (const line of lines) {
      const [, oid = '', fault = '', name = ''] = /^warning: object ([0-9a-f]+): ((\w+): .*)/.exec(line) ?? [];
      // git also warns of what it refuses nowhere.
      if (harmless.includes(name) && !found.has(oid)) found.set(oid, fault);
    }
    if (found.size > mostFaulty)
      stop.abort(
        new DomainError('too_large', `one push may bring ${mostFaulty} objects with old faults without manage_studio`),
      );
  };
  // The pack has been taken in, so it has an index and no graver fault: it is only read again.
  const args = ['index-pack', '--verify', `--strict=${harmless.map((fault) => `${fault}=warn`).join(',')}`, pack];
  const signal = AbortSignal.any([rest.signal, stop.signal]);
  const options = { ...rest, signal, timeout: wallTime.fetch, what: 'The push', onStderr };
  for await (const _ of gitStream(processes, args, options));
  return found;
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
