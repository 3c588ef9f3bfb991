import { createHash, randomUUID } from 'node:crypto';
import { existsSync, fstatSync, mkdirSync, readdirSync, readFileSync, readSync, renameSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Sha256 } from '../../ports/blobs.ts';
import type { BlobPaths } from './blob-paths.ts';
import { type DurableDirectories, KeptDirectories } from './durable-file.ts';
import { whenThere } from './failures.ts';
import { storeThread } from './job-thread.ts';
import { SmallFiles, writeSmall } from './small-files.ts';

/** One content in a journal of blobs. */
export interface JournalRecord {
  sha256: Sha256;
  content: Uint8Array;
}

const hashBytes = 32;
const headBytes = hashBytes + 4;

/** A record as it is written: 32 bytes of SHA-256, 4 of size in network order, the content. */
export function encodeRecord({ sha256, content }: JournalRecord): Uint8Array[] {
  const head = Buffer.alloc(headBytes);
  head.write(sha256, 'hex');
  head.writeUInt32BE(content.length, hashBytes);
  return [head, content];
}

/** The names alone, of a journal that is open. */
export function* namesIn(file: number): Generator<Sha256> {
  const { size } = fstatSync(file);
  const head = Buffer.alloc(headBytes);
  for (let at = 0; at + headBytes <= size; ) {
    readSync(file, head, 0, headBytes, at);
    at += headBytes + head.readUInt32BE(hashBytes);
    if (at > size) return;
    yield head.toString('hex', 0, hashBytes);
  }
}

/** The records of a journal in their order, unchecked, up to one that was cut short. */
export function* recordsOf(journal: Buffer): Generator<JournalRecord> {
  for (let at = 0; at + headBytes <= journal.length; ) {
    const from = at + headBytes;
    const end = from + journal.readUInt32BE(at + hashBytes);
    if (end > journal.length) return;
    yield { sha256: journal.toString('hex', at, at + hashBytes), content: journal.subarray(from, end) };
    at = end;
  }
}

/** Whether a content matches its hash: a loss of power may leave anything in a record that was never acknowledged. */
export const isWhole = ({ sha256, content }: JournalRecord): boolean =>
  createHash('sha256').update(content).digest('hex') === sha256;

/** The journal that is written to. */
interface OpenJournal {
  place: string;
  file: FileHandle;
  /** Bytes so far. */
  size: number;
  /** It has been open for long, and is not written to any more once the present write is over. */
  isOld: boolean;
  /** Until what is in it has its names. */
  named: Promise<unknown>;
}

/** Writes pieces without copying them. @returns bytes */
async function appendPieces(file: FileHandle, pieces: Uint8Array[]): Promise<number> {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const { bytesWritten } = await file.writev(pieces);
  // What did not fit fails here, with its cause.
  if (bytesWritten < size) await file.appendFile(Buffer.concat(pieces).subarray(bytesWritten));
  return size;
}

/** A journal whose files must become durable before it is deleted. */
export interface SettleJob {
  journal: string;
  /** Of the store. */
  root: string;
}

/** Milliseconds a journal rests: by then Linux has written its files by itself, so a sync costs little. */
const usualRest = 40_000;

/** Closed journals: each rests until its files are almost surely on the disk; a thread then syncs them and deletes the journal. */
class RestingJournals {
  readonly #root: string;
  readonly #rest: number;
  readonly #thread = storeThread<SettleJob, void>(import.meta.url, './settle-thread');

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

/** Names the time since the machine was started (random(4)); null where that is not known. */
const bootId = (): string | null => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
};

/** A name for a journal: what was written since the machine started is in its memory, whichever process has ended. */
const journalName = (boot: string | null): string => `${boot ?? 'unknown'}.${randomUUID()}`;

/** Writes every content of a journal again whose file is damaged or missing. */
function restore(journal: string, paths: BlobPaths): void {
  mkdirSync(paths.incoming, { recursive: true, mode: 0o700 });
  for (const record of recordsOf(readFileSync(journal))) {
    // What follows a damaged record was never acknowledged.
    if (!isWhole(record)) return;
    const place = paths.of(record.sha256);
    const content = whenThere(() => readFileSync(place));
    if (content !== null && isWhole({ ...record, content })) continue;
    mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 });
    writeSmall(paths.incoming, place, record.content);
  }
}

/**
 * Takes over the journals others have left. After a loss of power their contents are written again before anything is looked for; otherwise
 * the machine still has them. A journal still in use is taken over, too: its writer notices and begins another.
 * @param boot see `bootId`
 * @returns the journals, whose files are still to be made durable
 */
function takeJournals(directory: string, paths: BlobPaths, boot: string | null): string[] {
  const taken: string[] = [];
  for (const name of whenThere(() => readdirSync(directory)) ?? []) {
    const then = name.split('.', 1)[0] ?? '';
    const mine = path.join(directory, `${then}.${randomUUID()}`);
    // First the name, then the contents: nothing that is added later counts.
    const isMine = whenThere(() => {
      renameSync(path.join(directory, name), mine);
      return true;
    });
    if (!isMine) continue;
    if (boot === null || then !== boot) restore(mine, paths);
    taken.push(mine);
  }
  return taken;
}

/** Contents of one write. */
const together = 100;
/** Bytes after which another journal begins. */
const largest = 8 * 1024 * 1024;
/** Milliseconds after which another begins. */
const longest = 10_000;

interface Waiting extends JournalRecord {
  done: PromiseWithResolvers<void>;
}

interface BlobJournalOptions {
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
 * own, which are not synced until the machine has long written them. A journal is deleted once that is certain; one that exists after
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
    // Contents that arrive in one iteration of the event loop are written together.
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

  /** Writes the files of contents and resolves their waiting writers. */
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
