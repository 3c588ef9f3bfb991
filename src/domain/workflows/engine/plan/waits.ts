/** What the steps of a plan wait for. */
export class Waits {
  readonly #now: number;
  /** When the first of them goes on, milliseconds since 1970; null: none does by itself. */
  due: number | null = null;
  forInput = false;
  otherwise = false;

  constructor(now: number) {
    this.#now = now;
  }

  /** @returns whether a time has come; one that has not is remembered */
  isDue(at: number | null): boolean {
    if (at === null) return false;
    if (at <= this.#now) return true;
    this.due = Math.min(this.due ?? at, at);
    return false;
  }
}
