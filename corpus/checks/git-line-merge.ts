import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitProcesses } from '../../src/engines/git/git-process.ts';

/** Three versions of a text. */
export interface Versions {
  base: string;
  current: string;
  incoming: string;
}

/** What `git merge-file` makes of three files, in a scratch directory. */
export class GitLineMerge {
  readonly #processes: GitProcesses;
  readonly #scratch: string;
  readonly #signal: AbortSignal;

  constructor(processes: GitProcesses, scratch: string, signal: AbortSignal) {
    this.#processes = processes;
    this.#scratch = scratch;
    this.#signal = signal;
  }

  /** @returns the merged text; null when the lines conflict */
  async merge(versions: Versions): Promise<string | null> {
    const directory = await mkdtemp(join(this.#scratch, 'merge-'));
    try {
      const paths = ['current', 'base', 'incoming'].map((name) => join(directory, name));
      const texts = [versions.current, versions.base, versions.incoming];
      await Promise.all(paths.map((path, at) => writeFile(path, texts[at] ?? '')));
      const { code, stdout } = await this.#processes.run(['merge-file', '-p', '--quiet', ...paths], {
        signal: this.#signal,
      });
      // The exit code is the number of conflicts; it is more for files git cannot merge at all.
      return code === 0 ? stdout.toString('utf8') : null;
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
}
