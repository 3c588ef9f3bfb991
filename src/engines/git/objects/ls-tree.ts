import type { Mode, Oid } from '../../../domain/ports/git-records.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { gitStream } from '../git-stream.ts';
import { records } from '../nul-records.ts';

export interface ListedEntry {
  mode: Mode;
  type: string;
  oid: Oid;
  path: string;
}

/**
 * Everything below a tree, directories before what they hold, in git's order (`ls-tree -r -t -z`), in pieces. A consumer that leaves
 * early ends the process, so a tree that unfolds without end costs nothing beyond its bound.
 */
export async function* listRecursively(
  processes: GitProcesses,
  gitDir: string,
  treeish: Oid,
): AsyncGenerator<ListedEntry[]> {
  const args = ['ls-tree', '-r', '-t', '-z', '--end-of-options', treeish];
  const stream = gitStream(processes, args, { gitDir, timeout: wallTime.read, what: 'A tree' });
  for await (const some of records(stream)) yield some.map(parseRecord);
}

/** `<mode> SP <type> SP <oid> TAB <path>` */
function parseRecord(record: string): ListedEntry {
  const tab = record.indexOf('\t');
  const [mode = '', type = '', oid = ''] = record.slice(0, tab).split(' ');
  return { mode, type, oid, path: record.slice(tab + 1) };
}
