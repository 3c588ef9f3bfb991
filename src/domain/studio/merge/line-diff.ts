/** A part of two sequences: `[oldStart, oldEnd)` of one against `[newStart, newEnd)` of the other. */
interface Box {
  oldStart: number;
  oldEnd: number;
  newStart: number;
  newEnd: number;
}

/** Integer square root to the next power of two, enough to grow a bound with the size of its input. */
function roughRoot(size: number): number {
  let root = 1;
  for (let rest = size; rest > 0; rest >>= 2) root <<= 1;
  return root;
}

const fewestSteps = 256;
/** Diagonals looked at for one pair of texts: a fraction of a second, far beyond what edits of one text need. */
const mostWork = 2 ** 23;

/**
 * Finds the point where a shortest edit script between two sequences passes its middle: "An O(ND) Difference Algorithm"
 * (Myers 1986), section 4b, searched from both ends at once. Diagonal k holds the points with old - new = k.
 *
 * Ties are broken as git does, so that ambiguous texts are cut alike. Where the sequences differ in more than `limit` places the
 * furthest point reached is returned: the script is then longer than needed, but the time is bounded.
 */
class SnakeFinder {
  readonly #old: Int32Array;
  readonly #new: Int32Array;
  /** Furthest old position per diagonal, seen from the start and from the end; `#zero` is diagonal 0. */
  readonly #ahead: Int32Array;
  readonly #back: Int32Array;
  readonly #zero: number;
  readonly #limit: number;
  #work = 0;

  constructor(old: Int32Array, fresh: Int32Array) {
    const diagonals = old.length + fresh.length + 3;
    this.#old = old;
    this.#new = fresh;
    this.#ahead = new Int32Array(diagonals + 2);
    this.#back = new Int32Array(diagonals + 2);
    this.#zero = fresh.length + 2;
    this.#limit = Math.max(roughRoot(diagonals), fewestSteps);
  }

  /**
   * @param box neither side empty, and neither first nor last lines alike.
   * @returns null when the texts have cost so much that the box is better called changed from end to end.
   */
  find(box: Box): [old: number, fresh: number] | null {
    if (this.#work > mostWork) return null;
    const [ahead, back, zero] = [this.#ahead, this.#back, this.#zero];
    const { oldStart, oldEnd, newStart, newEnd } = box;
    const [lowest, highest] = [oldStart - newEnd, oldEnd - newStart];
    const [first, last] = [oldStart - newStart, oldEnd - newEnd];
    const odd = ((first - last) & 1) !== 0;
    let [aheadLow, aheadHigh, backLow, backHigh] = [first, first, last, last];
    ahead[zero + first] = oldStart;
    back[zero + last] = oldEnd;
    for (let steps = 1; ; steps++) {
      this.#work += aheadHigh - aheadLow + backHigh - backLow;
      if (aheadLow > lowest) ahead[zero + --aheadLow - 1] = -1;
      else aheadLow++;
      if (aheadHigh < highest) ahead[zero + ++aheadHigh + 1] = -1;
      else aheadHigh--;
      for (let k = aheadHigh; k >= aheadLow; k -= 2) {
        const at = this.#stepAhead(k, box);
        if (odd && backLow <= k && k <= backHigh && (back[zero + k] as number) <= at) return [at, at - k];
      }
      if (backLow > lowest) back[zero + --backLow - 1] = unreached;
      else backLow++;
      if (backHigh < highest) back[zero + ++backHigh + 1] = unreached;
      else backHigh--;
      for (let k = backHigh; k >= backLow; k -= 2) {
        const at = this.#stepBack(k, box);
        if (!odd && aheadLow <= k && k <= aheadHigh && at <= (ahead[zero + k] as number)) return [at, at - k];
      }
      if (steps >= this.#limit) return this.#furthest(box, [aheadLow, aheadHigh], [backLow, backHigh]);
    }
  }

  // Positions in the typed arrays are within bounds by construction, hence the casts.
  #stepAhead(k: number, { oldEnd, newEnd }: Box): number {
    const [below, above] = [this.#ahead[this.#zero + k - 1] as number, this.#ahead[this.#zero + k + 1] as number];
    let old = below >= above ? below + 1 : above;
    while (old < oldEnd && old - k < newEnd && this.#old[old] === this.#new[old - k]) old++;
    this.#ahead[this.#zero + k] = old;
    return old;
  }

  #stepBack(k: number, { oldStart, newStart }: Box): number {
    const [below, above] = [this.#back[this.#zero + k - 1] as number, this.#back[this.#zero + k + 1] as number];
    let old = below < above ? below : above - 1;
    while (old > oldStart && old - k > newStart && this.#old[old - 1] === this.#new[old - k - 1]) old--;
    this.#back[this.#zero + k] = old;
    return old;
  }

  #furthest(box: Box, aheadRange: [number, number], backRange: [number, number]): [number, number] {
    let forward: [number, number] = [box.oldStart, box.newStart];
    for (let k = aheadRange[1]; k >= aheadRange[0]; k -= 2) {
      const fresh = Math.min(Math.min(this.#ahead[this.#zero + k] as number, box.oldEnd) - k, box.newEnd);
      if (fresh + k + fresh > forward[0] + forward[1]) forward = [fresh + k, fresh];
    }
    let backward: [number, number] = [box.oldEnd, box.newEnd];
    for (let k = backRange[1]; k >= backRange[0]; k -= 2) {
      const fresh = Math.max(Math.max(this.#back[this.#zero + k] as number, box.oldStart) - k, box.newStart);
      if (fresh + k + fresh < backward[0] + backward[1]) backward = [fresh + k, fresh];
    }
    const gained = forward[0] + forward[1] - box.oldStart - box.newStart;
    return box.oldEnd + box.newEnd - backward[0] - backward[1] < gained ? forward : backward;
  }
}

const unreached = 0x7fffffff;

/**
 * A run of changed lines `[start, end)`, possibly empty: one stands before each unchanged line and one at the end, so both sides
 * of a diff have the same number of runs and can be walked in step.
 */
class Run {
  start = 0;
  end = 0;
  readonly #marks: Uint8Array;

  constructor(marks: Uint8Array) {
    this.#marks = marks;
    this.#grow();
  }

  get empty(): boolean {
    return this.start === this.end;
  }

  next(): boolean {
    if (this.end === this.#marks.length) return false;
    this.start = this.end + 1;
    this.end = this.start;
    this.#grow();
    return true;
  }

  previous(): void {
    this.end = this.start - 1;
    this.start = this.end;
    while (this.#marks[this.start - 1] === 1) this.start--;
  }

  /** Moves up by one line, which the line above must allow by being the same as the last; takes in a run it then meets. */
  slideUp(lines: Int32Array): boolean {
    if (this.start === 0 || lines[this.start - 1] !== lines[this.end - 1]) return false;
    this.#marks[--this.start] = 1;
    this.#marks[--this.end] = 0;
    while (this.#marks[this.start - 1] === 1) this.start--;
    return true;
  }

  slideDown(lines: Int32Array): boolean {
    if (this.end === lines.length || lines[this.start] !== lines[this.end]) return false;
    this.#marks[this.start++] = 0;
    this.#marks[this.end++] = 1;
    this.#grow();
    return true;
  }

  #grow(): void {
    while (this.#marks[this.end] === 1) this.end++;
  }
}

/**
 * Moves each run of changed lines among its equivalent places: together with its neighbours where they meet, beside a change of
 * the other side if there is one, else as far down as it goes. Both sides of a three-way merge so say the same of the same edit.
 */
function alignChanges(lines: Int32Array, marks: Uint8Array, otherMarks: Uint8Array): void {
  const [run, other] = [new Run(marks), new Run(otherMarks)];
  do {
    if (!run.empty) align(run, other, lines);
  } while (run.next() && other.next());
}

function align(run: Run, other: Run, lines: Int32Array): void {
  let size: number;
  let highest: number;
  let met: boolean;
  do {
    size = run.end - run.start;
    while (run.slideUp(lines)) other.previous();
    highest = run.end;
    met = !other.empty;
    while (run.slideDown(lines)) {
      other.next();
      if (!other.empty) met = true;
    }
  } while (run.end - run.start !== size);
  if (run.end === highest || !met) return;
  while (other.empty) {
    run.slideUp(lines);
    other.previous();
  }
}

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
