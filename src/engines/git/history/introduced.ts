import { DomainError } from '../../../kernel/errors.ts';
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
 * How long git may take: seconds of processor time for one process, and milliseconds somebody waits for all. Histories that cross are merged anew for
 * each of their common ancestors, twice as long for each time they have crossed, while a push holds one of few slots. Ten thousand ordinary merges take
 * less.
 */
const longest = { process: 20, all: 60_000 };
/** Milliseconds of each process that do not count: a push may move thousands of refs, each of which takes git a few. */
const start = 100;

/** What is left of the time in which git has to find out what one push, or one merge, introduces. */
export class GitTime {
  #left = longest.all;

  /** @throws DomainError `git_timeout` when nothing was left before */
  async wait<Found>(work: () => Promise<Found>): Promise<Found> {
    if (this.#left <= 0) throw new DomainError('git_timeout', 'git took too long and was stopped');
    const began = performance.now();
    try {
      return await work();
    } finally {
      this.#left -= performance.now() - began;
    }
  }

  /** The steps of one process; the time their consumer takes does not count. */
  async *steps<Step>(stream: AsyncGenerator<Step>): AsyncGenerator<Step> {
    this.#left += start;
    try {
      for (;;) {
        const { done, value } = await this.wait(() => stream.next());
        if (done) return;
        yield value;
      }
    } finally {
      await stream.return(undefined);
    }
  }
}

interface Place extends ObjectPlace {
  time: GitTime;
}

/**
 * Every change of every commit of a range: of a merge what was done by hand, where it is not what merging its parents gives.
 *
 * @param range revisions, as git-log takes them
 * @throws DomainError `git_timeout` when the time is over, or git needed more than 20 s of processor time at once
 */
export async function* introducedChanges(place: Place, range: readonly string[]): AsyncGenerator<IntroducedChange> {
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
async function* unlikeBothSides(place: Place, range: readonly string[]): AsyncGenerator<IntroducedChange> {
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
async function* inConflict(place: Place, joined: ReadonlyMap<Oid, readonly Line[]>): AsyncGenerator<IntroducedChange> {
  const merges = [...joined.values()];
  const pairs = merges.map(([line]) => ({ current: line?.parents[0] ?? '', incoming: line?.parents[1] ?? '' }));
  const bounds = { ...place, cpu: longest.process };
  const outcomes = await place.time.wait(() => mergeability(place.processes, place.gitDir, pairs, bounds));
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
async function newToBoth(place: Place, merged: readonly Line[]): Promise<Set<string>> {
  const { processes, gitDir, env, signal, time } = place;
  const [one = '', other = ''] = merged[0]?.parents ?? [];
  const found = new Set<string>();
  const options = { gitDir, env, signal, timeout: wallTime.merge, cpu: longest.process, what: 'The push' };
  for (const base of await time.wait(() => mergeBases(processes, gitDir, one, other, place))) {
    const args = ['diff-tree', '-r', '-z', '--no-renames', '--name-only', '--diff-filter=A', base, one];
    for await (const some of time.steps(records(gitStream(processes, args, options))))
      for (const path of some) found.add(path);
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

async function* lines(place: Place, args: readonly string[]): AsyncGenerator<Line> {
  const { processes, time, ...rest } = place;
  const options = { ...rest, timeout: wallTime.merge, cpu: longest.process, what: 'The push' };
  let [commit, ...parents]: string[] = [];
  let fields: string[] | null = null;
  for await (const some of time.steps(records(gitStream(processes, ['log', ...diff, ...args], options)))) {
    for (const record of some) {
      if (fields !== null) {
        yield { commit: commit ?? '', parents, fields, path: record };
        fields = null;
      } else if (/^\n*:/.test(record)) fields = record.replace(/^\n*:+/, '').split(' ');
      else if (/^\n*commit /.test(record)) [commit, ...parents] = record.trim().split(' ').slice(1);
    }
  }
}
