/** A driver makes way for others after so many milliseconds or steps. */
const longest = 30_000;
const fewest = 500;

/** What a driver does of an execution before it makes way. */
export class Slice {
  readonly #most: number;
  readonly #began = performance.now();
  #steps = 0;

  /** @param known steps it begins with: it does as many again, since whoever comes next has to read them all */
  constructor(known: number) {
    this.#most = Math.max(fewest, known);
  }

  add(steps: number): void {
    this.#steps += steps;
  }

  get isOver(): boolean {
    return this.#steps >= this.#most || performance.now() - this.#began > longest;
  }
}
