import type { BlobPaths } from '../blob-paths.ts';
import { storeThread } from '../threads/job-thread.ts';
import type { SettleJob } from '../threads/settle-job.ts';

/** Milliseconds a journal rests: by then Linux has written its files by itself, and asking for it costs little. */
const usualRest = 40_000;

/** Journals that are not written to any more: each rests until its files are surely on the disk, which is made sure of in a thread, and goes. */
export class RestingJournals {
  readonly #root: string;
  readonly #rest: number;
  readonly #thread = storeThread<SettleJob, void>(import.meta.url, '../threads/settle-thread');

  /** @param rest milliseconds */
  constructor({ root }: BlobPaths, rest = usualRest) {
    this.#root = root;
    this.#rest = rest;
  }

  /** Journals are settled one after another; one that cannot be stays for the next time. */
  add(journal: string): void {
    setTimeout(() => {
      this.#thread.run({ journal, root: this.#root }).catch(() => this.add(journal));
    }, this.#rest).unref();
  }
}
