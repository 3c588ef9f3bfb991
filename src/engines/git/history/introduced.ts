import type { Oid } from '../../../ports/git-records.ts';
import type { IntroducedChange } from '../../../ports/git-transfer.ts';
import { wallTime } from '../git-process.ts';
import { gitStream, records } from '../git-stream.ts';
import type { ObjectPlace } from '../incoming/large-blobs.ts';
import { mergeability, mergeBases } from './merge.ts';

/** What one commit changes at one path, as git prints it. */
interface Line {
  commit: Oid;
  parents: Oid[];
  /** `<mode> … <oid> … <status>` behind the colons (git-diff-tree, "RAW OUTPUT FORMAT"). */
  fields: readonly string[];
  path: string;
}

const diff = ['-r', '-z', '--raw', '--no-abbrev', '--no-renames', '--root', '--format=commit %H %P'];
/** Merges that are tried again at the same time, and files of them all. */
const triedTogether = { merges: 100, files: 10_000 };

/**
 * Every change of every commit of a range: of a merge what was done by hand, where it is not what merging its parents gives.
 *
 * @param range revisions, as git-log takes them
 */
export async function* introducedChanges(
  place: ObjectPlace,
  range: readonly string[],
): AsyncGenerator<IntroducedChange> {
  // A merge is held against the one git would have made: what differs was done by hand, also what one side lost by it.
  for await (const line of lines(place, ['--max-parents=2', '--diff-merges=remerge', ...range])) yield describe(line);
  yield* unlikeBothSides(place, range);
  // git makes no such merge of more than two; there every difference from any parent counts.
  for await (const line of lines(place, ['--min-parents=3', '--diff-merges=separate', ...range])) yield describe(line);
}

/**
 * What git makes of a merge by guessing: what one side changed in a file, brought into another file of the other side
 * that git takes for the same one renamed; and lines in conflict with marks around them, whose labels hold whatever the commits are called.
 */
async function* unlikeBothSides(place: ObjectPlace, range: readonly string[]): AsyncGenerator<IntroducedChange> {
  const joined = new Map<Oid, Line[]>();
  let files = 0;
  const twoParents = ['--min-parents=2', '--max-parents=2', '--diff-merges=combined'];
  for await (const line of lines(place, [...twoParents, ...range])) {
    const [one = '', other = '', mode = '', , , oid = ''] = line.fields;
    if (mode === '000000') continue;
    const sides = [one, other].filter((side) => side !== '000000');
    if (sides.length < 2) {
      const status = sides.length === 0 ? 'added' : 'modified';
      yield { ...placeOf(line), path: line.path, status, mode, was: sides[0] ?? null, oid };
      continue;
    }
    if (files >= triedTogether.files || (!joined.has(line.commit) && joined.size >= triedTogether.merges)) {
      yield* inConflict(place, joined);
      joined.clear();
      files = 0;
    }
    const ofMerge = joined.get(line.commit);
    if (ofMerge) ofMerge.push(line);
    else joined.set(line.commit, [line]);
    files += 1;
  }
  yield* inConflict(place, joined);
}

/** Of files that merges joined line by line, those that git could not have joined without a person, or that were none before. */
async function* inConflict(
  place: ObjectPlace,
  joined: ReadonlyMap<Oid, readonly Line[]>,
): AsyncGenerator<IntroducedChange> {
  const merges = [...joined.values()];
  const pairs = merges.map(([line]) => ({ current: line?.parents[0] ?? '', incoming: line?.parents[1] ?? '' }));
  const outcomes = await mergeability(place.processes, place.gitDir, pairs, place);
  for (const [at, merged] of merges.entries()) {
    const outcome = outcomes[at];
    const conflicts = new Set(outcome?.conflicts);
    const added = outcome ? await newToBoth(place, merged) : conflicts;
    for (const line of merged) {
      // Without a common ancestor all that both have is in conflict.
      if (outcome && !conflicts.has(line.path) && !added.has(line.path)) continue;
      const [was = '', , mode = '', , , oid = ''] = line.fields;
      yield { ...placeOf(line), path: line.path, status: 'modified', mode, was, oid };
    }
  }
}

/**
 * Files that both sides of a merge have and one of their common ancestors has not: git has no lines to join there, but may take one that the
 * other side has lost for the same file renamed.
 */
async function newToBoth(place: ObjectPlace, merged: readonly Line[]): Promise<Set<string>> {
  const { processes, gitDir, env, signal } = place;
  const [one = '', other = ''] = merged[0]?.parents ?? [];
  const found = new Set<string>();
  const options = { gitDir, env, signal, timeout: wallTime.merge, what: 'The push' };
  for (const base of await mergeBases(processes, gitDir, one, other, place)) {
    const args = ['diff-tree', '-r', '-z', '--no-renames', '--name-only', '--diff-filter=A', base, one];
    for await (const some of records(gitStream(processes, args, options))) for (const path of some) found.add(path);
  }
  return found;
}

const placeOf = ({ commit, parents }: Line) => ({ commit, parent: parents[0] ?? null });

function describe(line: Line): IntroducedChange {
  const [before = '', mode = '', , oid = ''] = line.fields;
  const was = before === '000000' ? null : before;
  const where = { ...placeOf(line), path: line.path };
  if (mode === '000000') return { ...where, status: 'removed', mode: was ?? '', was, oid: null };
  return { ...where, status: was === null ? 'added' : 'modified', mode, was, oid };
}

async function* lines(place: ObjectPlace, args: readonly string[]): AsyncGenerator<Line> {
  const { processes, ...rest } = place;
  const options = { ...rest, timeout: wallTime.merge, what: 'The push' };
  let [commit, ...parents]: string[] = [];
  let fields: string[] | null = null;
  for await (const some of records(gitStream(processes, ['log', ...diff, ...args], options))) {
    for (const record of some) {
      if (fields !== null) {
        yield { commit: commit ?? '', parents, fields, path: record };
        fields = null;
      } else if (/^\n*:/.test(record)) fields = record.replace(/^\n*:+/, '').split(' ');
      else if (/^\n*commit /.test(record)) [commit, ...parents] = record.trim().split(' ').slice(1);
    }
  }
}
