import type { Outcome } from '../../frontier/outcome.ts';

/** Results that are written together; so many, and what was in flight, may be repeated after a crash. */
export const mostUnwritten = 100;

/** Outcomes of a slice that wait to be written. */
export class Unwritten {
  #outcomes: Outcome[] = [];
  #since = 0;

  get size(): number {
    return this.#outcomes.length;
  }

  /** When the first of them came; milliseconds on this process's clock. */
  get since(): number {
    return this.#since;
  }

  add(outcome: Outcome): void {
    if (this.#outcomes.length === 0) this.#since = performance.now();
    this.#outcomes.push(outcome);
  }

  /** Takes out those that are written next. */
  take(): Outcome[] {
    this.#since = performance.now();
    return this.#outcomes.splice(0, mostUnwritten);
  }
}
