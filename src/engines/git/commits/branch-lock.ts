import { createHash } from 'node:crypto';
import { mkdir, open, stat, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** All in milliseconds. */
const times = {
  /** Milliseconds between two looks at a lock held by another process; up to as much again is added at random. */
  look: 3,
  /** Pause after releasing, so that a waiting process finds the lock free. */
  pause: 12,
  /** How long the lock is used after a lost race. */
  wanted: 2_000,
  /** A holder shows that it lives this often. */
  beat: 500,
  /** One that has not for so long is dead. */
  dead: 3_000,
  /** After which a writer proceeds without the lock. */
  patience: 30_000,
};

/**
 * Advisory lock of several processes on one branch. Compare-and-swap alone is unfair between them: the one with the shorter rounds wins, and a round
 * that is lost ten times over has its writers refused. So a process that has lost a round makes a file, and as long as that is there the
 * others wait for it, too; with one process, or without a race, nothing is made. The lock is advisory: a branch is only ever moved by
 * compare-and-swap, so one that is stolen, left behind or ignored costs a round at most.
 */
export class BranchLock {
  readonly #directory: string;
  readonly #wantedUntil = new Map<string, number>();
  readonly #givenAt = new Map<string, number>();

  constructor(gitDir: string) {
    this.#directory = join(gitDir, 'portico', 'locks');
  }

  /**
   * Waits for the lock of a branch, if any process uses it.
   *
   * @param lost a round has been lost to another process
   * @returns a function that releases the lock; null when none was needed
   */
  async take(branch: string, lost: boolean): Promise<(() => Promise<void>) | null> {
    const path = this.#path(branch);
    if (lost || (await beatOf(path)) !== null) this.#wantedUntil.set(branch, performance.now() + times.wanted);
    const wantedUntil = this.#wantedUntil.get(branch);
    if (wantedUntil === undefined) return null;
    if (wantedUntil < performance.now()) {
      this.#wantedUntil.delete(branch);
      this.#givenAt.delete(branch);
      return null;
    }
    await sleep(Math.max(0, (this.#givenAt.get(branch) ?? 0) + times.pause - performance.now()));
    if (!(await this.#acquire(path))) return null;
    const beat = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => {}), times.beat);
    return async () => {
      clearInterval(beat);
      await unlink(path).catch(() => {});
      this.#givenAt.set(branch, performance.now());
    };
  }

  /** Branch names may be too long for a file, and one may be the directory of another. */
  #path(branch: string): string {
    return join(this.#directory, createHash('sha256').update(branch).digest('hex'));
  }

  async #acquire(path: string): Promise<boolean> {
    const patientUntil = performance.now() + times.patience;
    let seen = { beat: null as number | null, at: 0 };
    for (;;) {
      if (await this.#create(path)) return true;
      // Clocks differ between machines: what counts is how long we have seen it without a beat.
      const beat = await beatOf(path);
      if (beat !== seen.beat) seen = { beat, at: performance.now() };
      else if (beat !== null && performance.now() - seen.at > times.dead) await unlink(path).catch(() => {});
      if (performance.now() > patientUntil) return false;
      await sleep(times.look * (1 + Math.random()));
    }
  }

  async #create(path: string): Promise<boolean> {
    try {
      await (await open(path, 'wx')).close();
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return false;
      if (code !== 'ENOENT') throw error;
      await mkdir(this.#directory, { recursive: true });
      return false;
    }
  }
}

/** When the holder of a lock last renewed it; null when it is free. */
async function beatOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  );
}
