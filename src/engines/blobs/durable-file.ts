import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';

/** Makes the names in a directory survive a loss of power. */
async function syncDirectory(place: string): Promise<void> {
  const handle = await open(place, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Directories this process has made sure of: whoever finds one just made by another writer waits until its name is durable, too. */
export class DurableDirectories {
  readonly #made = new Map<string, Promise<void>>();

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
    await syncDirectory(path.dirname(place));
  }

  /**
   * Writes a file in `aside` and gives it its name when all of it is on the disk: there whole or not at all.
   * @param write fills the file. @returns where it belongs, or null when it is not wanted after all
   * @param isDurable false for a file that can be made again and tells by itself whether it is whole: nobody waits for the disk then
   */
  async writeWhole(
    aside: string,
    write: (append: (chunk: Uint8Array) => Promise<unknown>) => Promise<string | null>,
    isDurable = true,
  ): Promise<void> {
    await this.ensure(aside);
    const temporary = path.join(aside, randomUUID());
    const handle = await open(temporary, 'wx', 0o600);
    try {
      const place = await write((chunk) => handle.appendFile(chunk));
      if (place === null) return;
      if (isDurable) await handle.sync();
      await this.ensure(path.dirname(place));
      await rename(temporary, place);
      if (isDurable) await syncDirectory(path.dirname(place));
    } finally {
      await handle.close();
      await rm(temporary, { force: true });
    }
  }
}
