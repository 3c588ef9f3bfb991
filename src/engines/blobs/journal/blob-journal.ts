import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Sha256 } from '../../../domain/ports/blobs.ts';
import type { BlobPaths } from '../blob-paths.ts';
import type { DurableDirectories } from '../durable-file.ts';
import { KeptDirectories } from '../kept-directories.ts';
import { SmallFiles } from '../threads/small-files.ts';
import { appendPieces, type OpenJournal } from './journal-file.ts';
import { encodeRecord, type JournalRecord } from './journal-records.ts';
import { bootId, journalName, takeJournals } from './journal-recovery.ts';
import { RestingJournals } from './resting-journals.ts';

/** Contents of one write. */
const together = 100;
/** Bytes after which another journal begins. */
const largest = 8 * 1024 * 1024;
/** Milliseconds after which another begins. */
const longest = 10_000;

interface Waiting extends JournalRecord {
  done: PromiseWithResolvers<void>;
}

export interface BlobJournalOptions {
  directory: string;
  paths: BlobPaths;
  directories: DurableDirectories;
  /** Milliseconds a full journal rests; see `RestingJournals`. */
  rest?: number;
  /** See `bootId`. */
  boot?: string | null;
}

/**
 * Makes many small contents durable with one sync: they are written into a journal, one after another, and only then into files of their
 * own, which nobody syncs until the machine has long written them. A journal goes when that has been made sure of; one that is there after
 * a loss of power is read again.
 */
export class BlobJournal {
  readonly #options: Omit<Required<BlobJournalOptions>, 'rest'>;
  readonly #names = new KeptDirectories();
  readonly #files: SmallFiles;
  readonly #resting: RestingJournals;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #open: OpenJournal | null = null;

  constructor({ rest, boot = bootId(), ...options }: BlobJournalOptions) {
    this.#options = { boot, ...options };
    this.#files = new SmallFiles(options.paths, options.directories);
    this.#resting = new RestingJournals(options.paths, rest);
    for (const place of takeJournals(options.directory, options.paths, boot)) this.#resting.add(place);
  }

  /** Resolves when the content is durable, and found by its name. */
  keep(sha256: Sha256, content: Uint8Array): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ sha256, content, done });
    if (!this.#isWriting) void this.#drain();
    return done.promise;
  }

  async #drain(): Promise<void> {
    this.#isWriting = true;
    // Those that come in this turn of the event loop are written together.
    await turn();
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, together);
      try {
        const { journal, ...records } = await this.#append(group);
        // The next ones become durable while these get their names.
        journal.named = Promise.all([journal.named, this.#name(group, { file: journal.file.fd, ...records })]);
        if (journal.isOld || journal.size >= largest) void this.#retire();
      } catch (error) {
        // Nothing may follow a record that is cut short.
        void this.#retire();
        for (const { done } of group) done.reject(error);
      }
    }
    this.#isWriting = false;
  }

  /** Makes contents durable. @returns where they are */
  async #append(group: readonly Waiting[]): Promise<{ journal: OpenJournal; at: number; size: number }> {
    const records = group.flatMap(encodeRecord);
    for (;;) {
      this.#open ??= await this.#begin();
      const journal = this.#open;
      const at = journal.size;
      const size = await appendPieces(journal.file, records);
      journal.size += size;
      await journal.file.datasync();
      if (existsSync(journal.place)) return { journal, at, size };
      // Another process has taken it over, perhaps before this was in it.
      this.#open = null;
      await journal.named;
      await journal.file.close();
    }
  }

  /** Gives contents their files, and says so to whoever waits for them. */
  async #name(group: readonly Waiting[], where: Parameters<SmallFiles['write']>[1]): Promise<void> {
    try {
      await this.#files.write(group, where);
      for (const { done } of group) done.resolve();
    } catch (error) {
      for (const { done } of group) done.reject(error);
    }
  }

  async #begin(): Promise<OpenJournal> {
    const { directory, boot, directories } = this.#options;
    await directories.ensure(directory);
    const place = path.join(directory, journalName(boot));
    const file = await open(place, 'ax+', 0o600);
    await this.#names.sync(directory);
    const journal: OpenJournal = { place, file, size: 0, isOld: false, named: Promise.resolve() };
    setTimeout(() => {
      if (this.#open !== journal) return;
      if (!this.#isWriting) void this.#retire();
      else journal.isOld = true;
    }, longest).unref();
    return journal;
  }

  async #retire(): Promise<void> {
    const journal = this.#open;
    if (journal === null) return;
    this.#open = null;
    await journal.named;
    this.#resting.add(journal.place);
    await journal.file.close().catch(() => {});
  }
}
