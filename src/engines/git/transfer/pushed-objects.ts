import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DomainError } from '../../../domain/errors.ts';
import type { Oid } from '../../../domain/ports/git-records.ts';
import type { PushCommand, PushedChange, PushedObjects } from '../../../domain/ports/git-transfer.ts';
import { wallTime } from '../git-process.ts';
import { gitStream } from '../git-stream.ts';
import type { ObjectPlace } from '../incoming/large-blobs.ts';
import { records } from '../nul-records.ts';
import { isOid } from '../objects/object-id.ts';

/**
 * The environment in which a push's objects can be read: git keeps them in a directory below `objects` until the hook agrees
 * (git-receive-pack, "QUARANTINE ENVIRONMENT").
 */
export async function quarantineEnvironment(gitDir: string, path: string | null): Promise<Record<string, string>> {
  if (path === null) return {};
  const objects = join(await realpath(gitDir), 'objects');
  if (dirname(await realpath(path)) !== objects) throw new Error(`${path} is no quarantine of this repository`);
  return { GIT_OBJECT_DIRECTORY: path, GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(objects) };
}

/** The lines a hook got, without `forced`. */
export function parseCommands(lines: string): Omit<PushCommand, 'forced'>[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [old = '', new_ = ''] = line.split(' ', 2);
      const ref = line.slice(old.length + new_.length + 2);
      const known = [old, new_].map((oid) => (/^0+$/.test(oid) ? null : oid));
      if (!isOid(old) || !isOid(new_) || ref.includes('\uFFFD')) throw new Error(`not a push: ${line}`);
      return { ref, old: known[0] ?? null, new: known[1] ?? null };
    });
}

/** Reads the objects of one push. */
export class Quarantine implements PushedObjects {
  readonly #place: ObjectPlace;

  constructor(place: ObjectPlace) {
    this.#place = place;
  }

  /** Whether a command takes something away that was published: git itself wants `--force` for that. */
  async isForced({ ref, old, new: new_ }: Omit<PushCommand, 'forced'>): Promise<boolean> {
    if (old === null || new_ === null || old === new_) return false;
    if (!ref.startsWith('refs/heads/')) return true;
    const { processes, ...options } = this.#place;
    const { code, stderr } = await processes.run(['merge-base', '--is-ancestor', old, new_], options);
    if (code === 0 || code === 1) return code === 1;
    throw new DomainError('repository_unavailable', 'The push could not be read', { cause: new Error(stderr) });
  }

  async *introduced(new_: Oid): AsyncGenerator<PushedChange> {
    const diff = ['-r', '-z', '--raw', '--no-renames', '--root', '--format='];
    const known = [new_, '--not', '--branches', '--tags', '--glob=refs/pull/*'];
    // A merge is held against the one git would have made: what differs was done by hand, also what one side lost by it.
    yield* this.#read(['log', ...diff, '--max-parents=2', '--diff-merges=remerge', ...known]);
    // git makes no such merge of more than two; there every difference from any parent counts.
    yield* this.#read(['log', ...diff, '--min-parents=3', '--diff-merges=separate', ...known]);
  }

  async *#read(args: string[]): AsyncGenerator<PushedChange> {
    const { processes, ...rest } = this.#place;
    const options = { ...rest, timeout: wallTime.merge, what: 'The push' };
    let fields: string[] | null = null;
    for await (const some of records(gitStream(processes, args, options))) {
      for (const record of some) {
        if (fields !== null) {
          yield describe(fields, record);
          fields = null;
        } else if (/^\n*:/.test(record)) fields = record.trimStart().split(' ');
      }
    }
  }
}

/** `:<mode> <mode> <oid> <oid> <status>` (git-diff-tree, "RAW OUTPUT FORMAT"). */
function describe([was = '', becomes = '']: readonly string[], path: string): PushedChange {
  if (becomes === '000000') return { path, status: 'removed', mode: was.slice(1) };
  return { path, status: was === ':000000' ? 'added' : 'modified', mode: becomes };
}
