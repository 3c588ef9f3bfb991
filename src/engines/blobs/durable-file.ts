import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';

/** How long directories stay open after the last sync; milliseconds. */
const idleTime = 2_000;

/**
 * Makes names in directories survive a loss of power. A directory that gets new names repeatedly stays open meanwhile, and requests that arrive
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

type Write = (append: (chunk: Uint8Array) => Promise<unknown>) => Promise<string | null>;

/** Directories this process has synced: a directory just made by another writer is waited for until its name is durable, too. */
export class DurableDirectories {
  readonly #made = new Map<string, Promise<void>>();
  readonly #directories = new KeptDirectories();
  readonly #landing = new Map<string, Promise<void>>();

  ensure(place: string): Promise<void> {
    let making = this.#made.get(place);
    if (making === undefined) {
      making = this.#make(place);
      this.#made.set(place, making);
      making.catch(() => this.#made.delete(place));
    }
    return making;
  }

  async #make(place: string): Promise<void> {
    await mkdir(place, { recursive: true, mode: 0o700 });
    await this.#directories.sync(path.dirname(place));
  }

  /**
   * Writes a file in `aside` and gives it its name when all of it is on the disk: there whole or not at all.
   * @param write fills the file. @returns its path, or null when it is not needed after all
   */
  async writeWhole(aside: string, write: Write): Promise<void> {
    await this.ensure(aside);
    const temporary = path.join(aside, randomUUID());
    try {
      const place = await fill(temporary, write);
      if (place === null) return void (await rm(temporary, { force: true }));
      await this.ensure(path.dirname(place));
      await this.#land(temporary, place);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** Whether a name that can be seen may not be durable yet. */
  isLanding(place: string): boolean {
    return this.#landing.has(place);
  }

  /** Resolves when a name that can be seen already is also durable. */
  async landed(place: string): Promise<void> {
    await this.#landing.get(place);
  }

  async #land(temporary: string, place: string): Promise<void> {
    const landing = rename(temporary, place).then(() => this.#directories.sync(path.dirname(place)));
    this.#landing.set(place, landing);
    await landing.finally(() => {
      if (this.#landing.get(place) === landing) this.#landing.delete(place);
    });
  }
}

/** Bytes after which a part of a file is synced: one very large sync would delay all others, the database's first. */
const portion = 4 * 1024 * 1024;

async function fill(file: string, write: Write): Promise<string | null> {
  const handle = await open(file, 'wx', 0o600);
  let unsynced = 0;
  const append = async (chunk: Uint8Array) => {
    await handle.appendFile(chunk);
    unsynced += chunk.length;
    if (unsynced < portion) return;
    unsynced = 0;
    await handle.datasync();
  };
  try {
    const place = await write(append);
    if (place !== null) await handle.sync();
    return place;
  } finally {
    await handle.close();
  }
}
