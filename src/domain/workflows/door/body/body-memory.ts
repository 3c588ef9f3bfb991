/** What the bodies of calls hold of a process's memory. */
export class BodyMemory {
  readonly #most: number;
  #held = 0;

  /** @param most bytes */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  /** An account for one body. */
  open(): { take(bytes: number): boolean; release(): void } {
    let own = 0;
    return {
      /** @returns false, and takes nothing, when there is not so much left */
      take: (bytes) => {
        if (this.#held + bytes > this.#most) return false;
        this.#held += bytes;
        own += bytes;
        return true;
      },
      release: () => {
        this.#held -= own;
        own = 0;
      },
    };
  }
}
