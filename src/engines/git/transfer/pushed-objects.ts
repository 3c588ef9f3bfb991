import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DomainError } from '../../../domain/errors.ts';
import type { Oid } from '../../../domain/ports/git-records.ts';
import type { PushCommand, PushedChange, PushedObjects } from '../../../domain/ports/git-transfer.ts';
import { wallTime } from '../git-process.ts';
import { gitStream } from '../git-stream.ts';
import { emptyTree } from '../history/diff.ts';
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

  changes(old: Oid | null, new_: Oid): AsyncIterable<PushedChange> {
    const from = old ?? emptyTree(new_);
    return this.#read(['diff-tree', '-r', '-z', '--raw', '--no-renames', '--end-of-options'], [from, new_]);
  }

  introduced(new_: Oid): AsyncIterable<PushedChange> {
    const diff = ['-r', '-z', '--raw', '--no-renames', '--root', '--diff-merges=combined', '--format='];
    const known = ['--not', '--branches', '--tags', '--glob=refs/pull/*'];
    return this.#read(['log', ...diff, new_, ...known], []);
  }

  async *#read(args: string[], oids: Oid[]): AsyncGenerator<PushedChange> {
    const { processes, ...rest } = this.#place;
    const options = { ...rest, timeout: wallTime.merge, what: 'The push' };
    let fields: string[] | null = null;
    for await (const some of records(gitStream(processes, [...args, ...oids], options))) {
      for (const record of some) {
        if (fields !== null) {
          yield describe(fields, record);
          fields = null;
        } else if (/^\n*:/.test(record)) fields = record.trimStart().split(' ');
      }
    }
  }
}

/** `:<mode> <mode> <oid> <oid> <status>`; of a merge a colon, a mode and an oid for every parent in front (git-diff-tree, "-c"). */
function describe(fields: readonly string[], path: string): PushedChange {
  const parents = fields[0]?.lastIndexOf(':') ?? 0;
  const modes = fields.slice(0, parents + 2).map((mode) => mode.replace(/^:+/, ''));
  const becomes = modes.pop() ?? '';
  const was = modes.find((mode) => mode !== '000000');
  if (becomes === '000000') return { path, status: 'removed', mode: was ?? '' };
  return { path, status: was === undefined ? 'added' : 'modified', mode: becomes };
}
