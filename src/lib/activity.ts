import { setTimeout as delay, setImmediate as nextIteration } from 'node:timers/promises';

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
