import type { Oid } from '../../../ports/git-records.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { gitStream } from '../git-stream.ts';
import { shown } from '../history/history.ts';
import type { Tip, TreeLimits } from './limits.ts';

/** Objects to be looked at: those of a repository, or of a push that is still in quarantine. */
export interface ObjectPlace {
  processes: GitProcesses;
  gitDir: string;
  /** The quarantine (git-receive-pack). */
  env: Record<string, string>;
  signal: AbortSignal;
}

/**
 * Which objects: all that are `new` to the refs, except the ones that match `except`; all that are `unseen`, as no ref that clients are shown has them,
 * each of which is passed on, with some `others` beside the tips; or what the tips themselves `hold`, not their histories.
 */
export type Reach =
  | { scope: 'new'; except?: string }
  | { scope: 'unseen'; others: readonly Oid[]; each(oid: Oid): void }
  | { scope: 'held' };

function walk(reach: Reach): string[] {
  if (reach.scope === 'held') return ['--no-walk', '--stdin'];
  if (reach.scope === 'unseen') return ['--stdin', '--not', ...shown];
  return ['--stdin', '--not', ...(reach.except === undefined ? [] : [`--exclude=${reach.except}`]), '--all'];
}

/** What `rev-list --objects` prints for the arguments and some tips, line by line. */
export async function* objectLines(
  place: ObjectPlace,
  args: string[],
  tips: readonly Pick<Tip, 'oid'>[],
): AsyncGenerator<string> {
  const { processes, ...rest } = place;
  const options = {
    ...rest,
    timeout: wallTime.fetch,
    what: 'What came in',
    input: tips.map(({ oid }) => `${oid}\n`).join(''),
  };
  let open = '';
  for await (const chunk of gitStream(processes, ['rev-list', '--objects', ...args], options)) {
    const found = (open + chunk.toString('utf8')).split('\n');
    open = found.pop() ?? '';
    yield* found;
  }
}

/**
 * Looks for a blob above the limit, in one walk that reads no blob (git-rev-list, "--filter=blob:limit").
 *
 * @returns its path, or its id when it has none; null when no blob exceeds the limit
 */
export async function findLargeBlob(
  place: ObjectPlace,
  tips: readonly Tip[],
  reach: Reach,
  { blobBytes }: TreeLimits,
): Promise<string | null> {
  if (tips.length === 0) return null;
  const filter = [`--filter=blob:limit=${blobBytes + 1}`, '--filter-provided-objects', '--filter-print-omitted'];
  const others = reach.scope === 'unseen' ? reach.others.map((oid) => ({ oid })) : [];
  for await (const line of objectLines(place, [...filter, '--no-object-names', ...walk(reach)], [...tips, ...others])) {
    if (line.startsWith('~')) return pathOf(place, tips, reach, line.slice(1));
    if (reach.scope === 'unseen') reach.each(line);
  }
  return null;
}

async function pathOf(place: ObjectPlace, tips: readonly Tip[], reach: Reach, oid: string): Promise<string> {
  for await (const line of objectLines(place, walk(reach), tips))
    if (line.startsWith(`${oid} `)) return line.slice(oid.length + 1) || oid;
  return oid;
}
