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
export function alignChanges(lines: Int32Array, marks: Uint8Array, otherMarks: Uint8Array): void {
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
