import { DomainError } from '../../../domain/errors.ts';
import type { Mode, Oid } from '../../../domain/ports/git-records.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { records } from '../nul-records.ts';

export interface ListedEntry {
  mode: Mode;
  type: string;
  oid: Oid;
  path: string;
  /** Bytes; null for what is not a blob, and when sizes were not asked for. */
  size: number | null;
}

/**
 * Everything below a tree, directories before what they hold, in git's order (`ls-tree -r -t -z`), in pieces. A consumer that leaves
 * early ends the process, so a tree that unfolds without end costs nothing beyond its bound.
 */
export async function* listRecursively(
  processes: GitProcesses,
  gitDir: string,
  treeish: Oid,
  options: { sizes?: boolean; signal?: AbortSignal } = {},
): AsyncGenerator<ListedEntry[]> {
  const { sizes = false, signal } = options;
  const args = ['ls-tree', '-r', '-t', '-z', ...(sizes ? ['--long'] : []), '--end-of-options', treeish];
  const child = processes.spawn(args, { gitDir, timeout: wallTime.read, ...(signal === undefined ? {} : { signal }) });
  child.streams.stdin.end();
  try {
    for await (const some of records(child.streams.stdout)) yield some.map(parseRecord);
    const { code, ended, stderr } = await child.exited;
    if (ended !== null) throw ended;
    if (code !== 0)
      throw new DomainError('repository_unavailable', 'A tree could not be read', { cause: new Error(stderr) });
  } finally {
    child.kill(null);
  }
}

/** `<mode> SP <type> SP <oid> [SP <size, padded>] TAB <path>` */
function parseRecord(record: string): ListedEntry {
  const tab = record.indexOf('\t');
  const [mode = '', type = '', oid = '', size = ''] = record.slice(0, tab).split(/ +/);
  return { mode, type, oid, path: record.slice(tab + 1), size: /^\d+$/.test(size) ? Number(size) : null };
}
