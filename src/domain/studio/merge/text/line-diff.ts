import { type Box, roughRoot, SnakeFinder } from './middle-snake.ts';
import { alignChanges } from './slide.ts';

/** `removed` lines at `old` gave way to `added` lines at `fresh`; positions count from 0. */
export interface Change {
  old: number;
  removed: number;
  fresh: number;
  added: number;
}

/**
 * The changes that turn one sequence of lines into another, in order and never touching.
 *
 * Each number stands for a line, equal numbers for equal lines. The choices among equally good scripts are git's (Myers, rare
 * lines preferred, changes slid together), because which lines count as changed decides what a three-way merge calls a conflict.
 * Linear space; time grows with the number of differences but is bounded.
 *
 * @param distinct all numbers are below it.
 */
export function diffLines(old: Int32Array, fresh: Int32Array, distinct: number): Change[] {
  const [oldMarks, newMarks] = [new Uint8Array(old.length), new Uint8Array(fresh.length)];
  const shorter = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < shorter && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old[old.length - tail - 1] === fresh[fresh.length - tail - 1]) tail++;
  const oldKept = significant(old, counts(fresh, distinct), head, tail, oldMarks);
  const newKept = significant(fresh, counts(old, distinct), head, tail, newMarks);
  markChanges(
    oldKept.map((at) => old[at] as number),
    newKept.map((at) => fresh[at] as number),
    (at) => {
      oldMarks[oldKept[at] as number] = 1;
    },
    (at) => {
      newMarks[newKept[at] as number] = 1;
    },
  );
  alignChanges(old, oldMarks, newMarks);
  alignChanges(fresh, newMarks, oldMarks);
  return changesOf(oldMarks, newMarks);
}

function counts(lines: Int32Array, distinct: number): Int32Array {
  const found = new Int32Array(distinct);
  for (const line of lines) found[line] = (found[line] as number) + 1;
  return found;
}

const mostRepeats = 1024;
const lookAround = 100;

/**
 * Positions of the lines worth comparing. Lines the other side lacks are changed for certain; so are, for speed and for better
 * scripts, frequent lines (blank ones, brackets) that stand amid a run of them. Those are marked.
 */
function significant(
  lines: Int32Array,
  elsewhere: Int32Array,
  head: number,
  tail: number,
  marks: Uint8Array,
): Int32Array {
  const end = lines.length - tail;
  const frequent = Math.min(roughRoot(lines.length), mostRepeats);
  const kinds = new Uint8Array(lines.length);
  for (let at = head; at < end; at++) {
    const repeats = elsewhere[lines[at] as number] as number;
    kinds[at] = repeats === 0 ? missing : repeats >= frequent ? common : rare;
  }
  const kept: number[] = [];
  for (let at = head; at < end; at++) {
    if (kinds[at] === rare || (kinds[at] === common && !amidMissing(kinds, at, head, end))) kept.push(at);
    else marks[at] = 1;
  }
  return Int32Array.from(kept);
}

const [missing, rare, common] = [0, 1, 2];

/** Whether a frequent line stands in a run of lines that are missing on the other side, on both hands, and mostly missing. */
function amidMissing(kinds: Uint8Array, at: number, head: number, end: number): boolean {
  const before = run(kinds, at, -1, Math.max(head, at - lookAround) - 1);
  if (before.missing === 0) return false;
  const after = run(kinds, at, 1, Math.min(end - 1, at + lookAround) + 1);
  if (after.missing === 0) return false;
  const [lost, repeated] = [before.missing + after.missing, before.common + after.common];
  return repeated * 4 < repeated + lost;
}

/** Counts the neighbours in one direction up to the first rare line; the line itself counts as common on either hand. */
function run(kinds: Uint8Array, at: number, step: 1 | -1, stop: number): { missing: number; common: number } {
  const found = { missing: 0, common: 1 };
  for (let here = at + step; here !== stop && kinds[here] !== rare; here += step) {
    if (kinds[here] === missing) found.missing++;
    else found.common++;
  }
  return found;
}

function markChanges(
  old: Int32Array,
  fresh: Int32Array,
  markOld: (at: number) => void,
  markNew: (at: number) => void,
): void {
  const snakes = new SnakeFinder(old, fresh);
  const open: Box[] = [{ oldStart: 0, oldEnd: old.length, newStart: 0, newEnd: fresh.length }];
  for (let box = open.pop(); box !== undefined; box = open.pop()) {
    let { oldStart, oldEnd, newStart, newEnd } = box;
    while (oldStart < oldEnd && newStart < newEnd && old[oldStart] === fresh[newStart]) {
      oldStart++;
      newStart++;
    }
    while (oldStart < oldEnd && newStart < newEnd && old[oldEnd - 1] === fresh[newEnd - 1]) {
      oldEnd--;
      newEnd--;
    }
    const cut = oldStart < oldEnd && newStart < newEnd ? snakes.find({ oldStart, oldEnd, newStart, newEnd }) : null;
    if (cut === null) {
      for (let at = oldStart; at < oldEnd; at++) markOld(at);
      for (let at = newStart; at < newEnd; at++) markNew(at);
    } else {
      const [oldCut, newCut] = cut;
      open.push({ oldStart: oldCut, oldEnd, newStart: newCut, newEnd }); // the first half is taken next
      open.push({ oldStart, oldEnd: oldCut, newStart, newEnd: newCut });
    }
  }
}

function changesOf(oldMarks: Uint8Array, newMarks: Uint8Array): Change[] {
  const changes: Change[] = [];
  for (let [old, fresh] = [0, 0]; old < oldMarks.length || fresh < newMarks.length; old++, fresh++) {
    const change = { old, removed: 0, fresh, added: 0 };
    while (oldMarks[old] === 1) old++;
    while (newMarks[fresh] === 1) fresh++;
    change.removed = old - change.old;
    change.added = fresh - change.fresh;
    if (change.removed + change.added > 0) changes.push(change);
  }
  return changes;
}
