import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { DomainError } from '../../kernel/errors.ts';
import type { GitChild } from './git-child.ts';

const pageSize = 4096;
/** A host that answers quickly fills some 100 MiB meanwhile; milliseconds. */
const lookEvery = 100;

const read = (path: string) => readFile(path, 'latin1').catch(() => '');

/** Bytes that a process and what it has started have for themselves (proc_pid_statm(5), proc_pid_task(5)); 0 where the system does not report them. */
async function bytesOf(pid: number): Promise<number> {
  const [, resident = 0, shared = 0] = (await read(`/proc/${pid}/statm`)).split(' ').map(Number);
  const started = (await read(`/proc/${pid}/task/${pid}/children`)).split(' ').filter(Boolean).map(Number);
  const below = await Promise.all(started.map(bytesOf));
  return below.reduce((sum, bytes) => sum + bytes, Math.max(0, resident - shared) * pageSize);
}

/**
 * Bounds what some processes take of the memory together. Each has a bound of its own, but those that connect to other hosts are many at once, for they
 * mostly wait, and a host can make each of them keep all it may have.
 */
export class SharedMemory {
  readonly #most: number;
  readonly #children = new Set<GitChild>();

  /** @param most bytes of all together, from which on the largest is ended */
  constructor(most: number) {
    this.#most = most;
  }

  watch(child: GitChild): void {
    this.#children.add(child);
    void child.exited.then(() => this.#children.delete(child));
    if (this.#children.size === 1) void this.#look();
  }

  async #look(): Promise<void> {
    while (this.#children.size > 0) {
      const found = await Promise.all(
        [...this.#children].map(async (child) => ({ child, bytes: await bytesOf(child.streams.pid ?? 0) })),
      );
      const [largest] = found.sort((a, b) => b.bytes - a.bytes);
      if (found.reduce((sum, { bytes }) => sum + bytes, 0) > this.#most)
        largest?.child.kill(
          new DomainError('unavailable', 'Other hosts sent more at once than there is memory for; try again shortly'),
        );
      await setTimeout(lookEvery, undefined, { ref: false });
    }
  }
}
