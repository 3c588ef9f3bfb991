import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Executes items that come at about the same time together: those of one turn of the event loop, and those that come while a batch is being
 * executed. What has a fixed cost, such as a commit, is paid once for all of them.
 */
export class Batch<T> {
  readonly #execute: (items: T[]) => Promise<void>;
  #waiting: { item: T; resolve: () => void; reject: (error: unknown) => void }[] = [];
  #running = false;

  /** @param execute fails for all of the items it is given */
  constructor(execute: (items: T[]) => Promise<void>) {
    this.#execute = execute;
  }

  /** Settles as the batch does that the item is in. */
  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      await nextTurn();
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#execute(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running = false;
  }
}
