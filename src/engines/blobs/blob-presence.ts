import { type Stats, statSync } from 'node:fs';
import { stat, utimes } from 'node:fs/promises';
import type { Sha256 } from '../../domain/ports/blobs.ts';
import type { BlobPaths } from './blob-paths.ts';
import type { DurableDirectories } from './durable-file.ts';
import { absentAs } from './failures.ts';

/** Files looked at together. */
const batch = 32;

/** Milliseconds for which files are looked at without letting all else have its turn. */
const lookingTime = 2;

/** A blob that was made young less than so many milliseconds ago is young enough: a fraction of what any sweep leaves to those who refer to one. */
const stillYoung = 30 * 60_000;

/** Tells which blobs are there, and makes young those that are: whoever asks is about to refer to them. */
export class BlobPresence {
  readonly #paths: BlobPaths;
  readonly #files: DurableDirectories;

  constructor(paths: BlobPaths, files: DurableDirectories) {
    this.#paths = paths;
    this.#files = files;
  }

  /**
   * Makes a blob young when it is there; one cut short by a loss of power does not count.
   * @param size bytes it should have; null: whatever it has
   */
  async touch(sha256: Sha256, size: number | null): Promise<boolean> {
    const place = this.#paths.of(sha256);
    const found = await stat(place).catch(absentAs(null));
    if (found === null || (size !== null && found.size !== size)) return false;
    if (this.#isSettled(place, found)) return true;
    const now = new Date();
    if (!(await utimes(place, now, now).then(() => true, absentAs(false)))) return false;
    await this.#files.landed(place);
    return true;
  }

  /** Those that are not there; the others are made young. */
  async missing(sha256s: Iterable<Sha256>): Promise<Set<Sha256>> {
    const absent = new Set<Sha256>();
    const left = this.#lookQuickly([...new Set(sha256s)], absent);
    for (let from = 0; from < left.length; from += batch) {
      const together = left.slice(from, from + batch);
      const found = await Promise.all(together.map((sha256) => this.touch(sha256, null)));
      for (const [index, sha256] of together.entries()) if (!found[index]) absent.add(sha256);
    }
    return absent;
  }

  /** What can be said of blobs at once: names that are in memory are looked at in microseconds, the disk is not waited for. */
  #lookQuickly(sha256s: readonly Sha256[], absent: Set<Sha256>): Sha256[] {
    const until = performance.now() + lookingTime;
    return sha256s.filter((sha256) => {
      if (performance.now() > until) return true;
      const place = this.#paths.of(sha256);
      const found = statSync(place, { throwIfNoEntry: false });
      if (found === undefined) absent.add(sha256);
      return found !== undefined && !this.#isSettled(place, found);
    });
  }

  /** Whether a file need not be made young, nor its name durable: another put may have given it that this moment. */
  #isSettled(place: string, { mtimeMs }: Stats): boolean {
    const age = Date.now() - mtimeMs;
    return age >= 0 && age < stillYoung && !this.#files.isLanding(place);
  }
}
