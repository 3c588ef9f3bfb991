import { randomUUID } from 'node:crypto';
import { closeSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BlobPaths } from './blob-paths.ts';
import type { DurableDirectories } from './durable-file.ts';
import { storeThread } from './job-thread.ts';
import type { JournalRecord } from './journal.ts';

/**
 * Gives a small content its name at once, atomically as long as this machine keeps running, without waiting for the disk. Each
 * round trip through the thread pool would take longer than all of it.
 * @param aside a directory on the same file system, which exists like that of `place`
 */
export function writeSmall(aside: string, place: string, content: Uint8Array): void {
  const temporary = path.join(aside, randomUUID());
  const file = openSync(temporary, 'wx', 0o600);
  try {
    writeFileSync(file, content);
    renameSync(temporary, place);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Records of a journal whose contents become files of their own. */
export interface FilesJob {
  /** Descriptor of the journal, which is open for reading and stays so meanwhile. */
  file: number;
  /** Where its records begin, and their bytes. */
  at: number;
  size: number;
  /** Where each content belongs, in the order of the records; in directories that exist. */
  places: string[];
  /** Where it is written first, on the same file system. */
  aside: string;
}

/** From this number on a thread writes the files: below it, the message to the thread costs more than the writes. */
const many = 8;

/**
 * Gives contents of a journal files of their own, without a sync. The system needs longer for a new file than for its contents, so that many
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

  /** @param where the position of these contents' records */
  async write(records: readonly JournalRecord[], where: Pick<FilesJob, 'file' | 'at' | 'size'>): Promise<void> {
    const aside = this.#paths.incoming;
    const places = records.map(({ sha256 }) => this.#paths.of(sha256));
    const folders = new Set([aside, ...places.map((place) => path.dirname(place))]);
    // New directories share their syncs.
    await Promise.all([...folders].map((folder) => this.#directories.ensure(folder)));
    if (records.length >= many) await this.#thread.run({ ...where, places, aside });
    else for (const [index, { content }] of records.entries()) writeSmall(aside, places[index] ?? '', content);
  }
}
