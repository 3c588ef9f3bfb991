import { setTimeout as delay, setImmediate as nextIteration } from 'node:timers/promises';

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

/** How long after a request has begun or ended the next one, or its end, is expected; milliseconds. */
const moment = 50;

/**
 * When requests of clients began or ended, so that work in the background gives way to them: what it does between two iterations of the event
 * loop is added to each of the dozen iterations that a request takes.
 */
export class Activity {
  #last = Number.NEGATIVE_INFINITY;

  /** A request begins or ends. */
  note(): void {
    this.#last = performance.now();
  }

  /**
   * Gives way to everything that waits for the event loop, and resolves when no request has begun or ended for a moment.
   * @param most milliseconds after which it resolves in any case: the share that is left to work in the background under load
   */
  async quiet(most: number): Promise<void> {
    await nextIteration();
    const deadline = performance.now() + most;
    for (;;) {
      const left = Math.min(this.#last + moment, deadline) - performance.now();
      if (left <= 0) return;
      await delay(Math.ceil(left));
    }
  }
}
