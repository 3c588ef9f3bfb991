import { type FileHandle, open } from 'node:fs/promises';

/** How long directories stay open after the last sync; milliseconds. */
const idleTime = 2_000;

/**
 * Makes names in directories survive a loss of power. A directory that names come to again and again stays open meanwhile, and those who ask
 * while one sync of it runs share the next.
 */
export class KeptDirectories {
  readonly #open = new Map<string, Promise<FileHandle>>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  /** Resolves when every name that was in the directory at the time of the call is on the disk. */
  sync(place: string): Promise<void> {
    const running = this.#running.get(place);
    if (running === undefined) return this.#begin(place);
    let next = this.#next.get(place);
    if (next === undefined) {
      const begin = () => {
        this.#next.delete(place);
        return this.#begin(place);
      };
      next = running.then(begin, begin);
      this.#next.set(place, next);
    }
    return next;
  }

  #begin(place: string): Promise<void> {
    const syncing = this.#sync(place).finally(() => {
      this.#running.delete(place);
      if (this.#running.size === 0) this.#closeSoon();
    });
    this.#running.set(place, syncing);
    return syncing;
  }

  async #sync(place: string): Promise<void> {
    let directory = this.#open.get(place);
    if (directory === undefined) {
      directory = open(place, 'r');
      this.#open.set(place, directory);
      directory.catch(() => this.#open.delete(place));
    }
    await (await directory).sync();
  }

  #closeSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#running.size > 0) return;
      for (const directory of this.#open.values()) void directory.then((handle) => handle.close());
      this.#open.clear();
    }, idleTime).unref();
    this.#timer.refresh();
  }
}
