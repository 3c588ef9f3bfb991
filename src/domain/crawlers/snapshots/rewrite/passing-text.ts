/** Text that passes: what has come in and has not gone out is held. Positions count from the first character of all that came in. */
export class PassingText {
  #held = '';
  /** Position of the first character that is held. */
  #start = 0;
  #out = '';

  /** Takes more in. */
  add(text: string): void {
    this.#held += text;
  }

  get heldLength(): number {
    return this.#held.length;
  }

  /** Where what has come in ends. */
  get end(): number {
    return this.#start + this.#held.length;
  }

  /** What is held between two positions. */
  slice(from: number, to: number): string {
    return this.#held.slice(from - this.#start, to - this.#start);
  }

  /** Lets everything up to a position go out. */
  release(to: number): void {
    if (to <= this.#start) return;
    this.#out += this.slice(this.#start, to);
    this.#drop(to);
  }

  /** Puts something in the place of what lies between two positions. */
  replace(from: number, to: number, by: string): void {
    this.release(from);
    this.#drop(to);
    this.#out += by;
  }

  /** What has gone out since the last call. */
  taken(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }

  #drop(to: number): void {
    this.#held = this.#held.slice(to - this.#start);
    this.#start = to;
  }
}
