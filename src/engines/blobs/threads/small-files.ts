import path from 'node:path';
import type { BlobPaths } from '../blob-paths.ts';
import type { DurableDirectories } from '../durable-file.ts';
import type { JournalRecord } from '../journal/journal-records.ts';
import { writeSmall } from '../small-file.ts';
import type { FilesJob } from './files-job.ts';
import { storeThread } from './job-thread.ts';

/** So many become files in a thread: one alone is there sooner than a thread has heard of it. */
const many = 8;

/**
 * Gives contents of a journal files of their own, which nobody syncs. The system needs longer for a new file than for what is in it, so that many
 * of them are made in a thread, which reads them from the journal: the event loop would wait for all of it.
 */
export class SmallFiles {
  readonly #paths: BlobPaths;
  readonly #directories: DurableDirectories;
  readonly #thread = storeThread<FilesJob, number>(import.meta.url, './files-thread');

  constructor(paths: BlobPaths, directories: DurableDirectories) {
    this.#paths = paths;
    this.#directories = directories;
  }

  /** @param where the records of these contents lie */
  async write(records: readonly JournalRecord[], where: Pick<FilesJob, 'file' | 'at' | 'size'>): Promise<void> {
    const aside = this.#paths.incoming;
    const places = records.map(({ sha256 }) => this.#paths.of(sha256));
    const folders = new Set([aside, ...places.map((place) => path.dirname(place))]);
    // Those that are new share their syncs.
    await Promise.all([...folders].map((folder) => this.#directories.ensure(folder)));
    if (records.length >= many) await this.#thread.run({ ...where, places, aside });
    else for (const [index, { content }] of records.entries()) writeSmall(aside, places[index] ?? '', content);
  }
}
