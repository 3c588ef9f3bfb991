/** Milliseconds that a standstill counts for at most. */
const longest = 125;

/**
 * Acts when this process has been running for so many milliseconds. A machine that stands still for seconds stops others as well, and what they
 * have answered meanwhile is heard before the next part is counted.
 * @returns stops it
 */
export function countdown(milliseconds: number, act: () => void): () => void {
  let left = milliseconds;
  const next = (): NodeJS.Timeout => {
    const part = Math.min(left, longest);
    return setTimeout(() => {
      left -= part;
      if (left > 0) timer = next();
      else act();
    }, part);
  };
  let timer = next();
  return () => clearTimeout(timer);
}

/** Wakes a loop that waits; one that rings while nobody waits is heard at once. */
export class Bell {
  #hasRung = false;
  #wake = () => {};

  readonly ring = (): void => {
    this.#hasRung = true;
    this.#wake();
  };

  /** Until it rings, for so many milliseconds at most. */
  async heard(within: number): Promise<void> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, within);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#hasRung = false;
  }
}
