/** Most milliseconds counted for one pause of the process. */
const longest = 125;

/**
 * A timer of running time: calls `act` after the process has been running for so many milliseconds. A machine that is suspended for seconds
 * suspends its peers as well; replies that arrived meanwhile are handled before the next part is counted.
 * @returns cancels the timer
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

/** Wakes a loop that waits: a condition variable for one waiter that remembers one notification. */
export class Notifier {
  #isNotified = false;
  #wake = () => {};

  readonly notify = (): void => {
    this.#isNotified = true;
    this.#wake();
  };

  /** Resolves after the next notification, at once when one is pending, and after so many milliseconds at the latest. */
  async wait(milliseconds: number): Promise<void> {
    if (!this.#isNotified) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isNotified = false;
    this.#wake = () => {};
  }
}

/** A time as milliseconds since 1970, as a driver gives it or JSON writes it. */
export const millisecondsOf = (at: Date | string | null): number | null =>
  at === null ? null : new Date(at).getTime();
export const dateOf = (at: number | null): Date | null => (at === null ? null : new Date(at));
