import { createHash, hash } from 'node:crypto';
import { closeSync, constants, createReadStream, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { BlobStore, KeptBlob, LiveBlobs, Sha256, SweptBlobs } from '../../ports/blobs.ts';
import { type BlobPaths, blobPaths } from './blob-paths.ts';
import { type Codings, codingThread, findCodings } from './codings.ts';
import { DurableDirectories } from './durable-file.ts';
import { absentAs, gone, withRoom } from './failures.ts';
import { BlobJournal } from './journal.ts';

interface Measured {
  sha256: Sha256;
  /** Bytes. */
  size: number;
}

/** Hashes a stream, handing each chunk on as it passes. */
async function measureStream(
  content: AsyncIterable<Uint8Array>,
  pass?: (chunk: Uint8Array) => Promise<unknown>,
): Promise<Measured> {
  const running = createHash('sha256');
  let size = 0;
  for await (const chunk of content) {
    running.update(chunk);
    size += chunk.length;
    await pass?.(chunk);
  }
  return { sha256: running.digest('hex'), size };
}

const measure = (content: Uint8Array): Measured => ({
  sha256: hash('sha256', content, 'hex'),
  size: content.length,
});

const look = (place: string) => stat(place).catch(absentAs(null));
const namesIn = (place: string): Promise<string[]> => readdir(place).catch(absentAs<string[]>([]));

/** Removes what was taken aside, unless it was made young before that. @returns bytes freed; null when it stays */
async function decide(paths: BlobPaths, sha256: Sha256, before: number): Promise<number | null> {
  const aside = path.join(paths.leaving, sha256);
  const found = await look(aside);
  if (found === null) return null;
  if (found.mtimeMs >= before) {
    await rename(aside, paths.of(sha256));
    return null;
  }
  const codings = await look(paths.codingsOf(sha256));
  // A coding is only served after its blob was found, so codings may be deleted first.
  await rm(paths.codingsOf(sha256), { force: true });
  await rm(aside, { force: true });
  return found.size + (codings?.size ?? 0);
}

/**
 * Takes a blob that looks old aside and looks again: a put that found it has either touched the very file we hold now, or has not
 * found it any more and written it anew.
 */
async function removeOne(paths: BlobPaths, sha256: Sha256, before: number): Promise<number | null> {
  const found = await look(paths.of(sha256));
  if (found === null || found.mtimeMs >= before) return null;
  await rename(paths.of(sha256), path.join(paths.leaving, sha256)).catch(absentAs(undefined));
  return decide(paths, sha256, before);
}

/** What interrupted puts and sweeps left. */
async function clearLeftovers(paths: BlobPaths, liveBelow: LiveBlobs, before: number): Promise<void> {
  await mkdir(paths.leaving, { recursive: true, mode: 0o700 });
  for (const sha256 of await namesIn(paths.leaving)) {
    if ((await liveBelow(sha256.slice(0, 2))).has(sha256))
      await rename(path.join(paths.leaving, sha256), paths.of(sha256));
    else await decide(paths, sha256, before);
  }
  for (const name of await namesIn(paths.incoming)) {
    const place = path.join(paths.incoming, name);
    if (((await look(place))?.mtimeMs ?? before) < before) await rm(place, { force: true });
  }
}

/** Mark and sweep, see `BlobStore.sweep`. `before` is in milliseconds since 1970. */
async function sweepBlobs(
  root: string,
  paths: BlobPaths,
  live: ReadonlySet<Sha256> | LiveBlobs,
  before: number,
): Promise<SweptBlobs> {
  const swept: SweptBlobs = { kept: 0, removed: 0, bytes: 0 };
  const liveBelow = typeof live === 'function' ? live : async () => live;
  await clearLeftovers(paths, liveBelow, before);
  for (const folder of (await namesIn(root)).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    const named = await liveBelow(folder);
    for (const name of (await namesIn(path.join(root, folder))).filter((each) => /^[0-9a-f]{62}$/.test(each))) {
      const sha256 = folder + name;
      const bytes = named.has(sha256) ? null : await removeOne(paths, sha256, before);
      if (bytes === null) swept.kept += 1;
      else swept.removed += 1;
      swept.bytes += bytes ?? 0;
    }
  }
  return swept;
}

/** Files looked at together. */
const batch = 32;

/** Milliseconds of looking at files before the event loop gets control back. */
const lookingTime = 2;

/** A blob younger than so many milliseconds is not touched again: a fraction of the grace period any sweep leaves to new references. */
const stillYoung = 30 * 60_000;

/** Returns which blobs exist and renews their age, because the caller is about to refer to them. */
class BlobPresence {
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

  /** Ids of blobs that do not exist; the others have their age renewed. */
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

/** Flags for opening files made by others: never follows a link, never blocks on a pipe. */
const plainFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Files up to this size are read at once, larger ones are streamed; bytes. */
const small = 64 * 1024;

/**
 * Reads a small file that has just been written, and so is still in memory: four round trips through the thread pool would take many times as long,
 * and more of this thread as well.
 * @returns null when it is large, or grows
 */
function readSmall(place: string): Buffer | null {
  const file = openSync(place, plainFile);
  try {
    const { size } = fstatSync(file);
    if (size > small) return null;
    // One byte more than the reported length.
    const content = Buffer.allocUnsafe(size + 1);
    const read = readSync(file, content, 0, size + 1, 0);
    return read > size ? null : content.subarray(0, read);
  } finally {
    closeSync(file);
  }
}

/** Contents up to this size may become durable in a journal; bytes. */
const journaled = 64 * 1024;

interface BlobStoreOptions {
  /** Where small contents are made durable together; without it each is for itself. */
  journal?: string;
}

/** Blobs as files below `root`, readable for their owner alone. */
export function createBlobStore(root: string, { journal: directory }: BlobStoreOptions = {}): BlobStore {
  const paths = blobPaths(root);
  const files = new DurableDirectories();
  const presence = new BlobPresence(paths, files);
  const codings = codingThread();
  const journal = directory === undefined ? null : new BlobJournal({ directory, paths, directories: files });

  async function writeBytes(place: string, content: Uint8Array): Promise<void> {
    const write = async (append: (chunk: Uint8Array) => Promise<unknown>) => {
      await append(content);
      return place;
    };
    await files.writeWhole(paths.incoming, write);
  }

  /** Null when there are none yet. */
  async function codingsOf(sha256: Sha256): Promise<Codings | null> {
    const file = await readFile(paths.codingsOf(sha256)).catch(absentAs(null));
    return file && findCodings(file);
  }

  async function putBytes(content: Uint8Array): Promise<KeptBlob> {
    const { sha256, size } = measure(content);
    if (journal && size <= journaled && !statSync(paths.of(sha256), { throwIfNoEntry: false })) {
      await journal.keep(sha256, content);
      return { sha256, size, isNew: true };
    }
    const isNew = !(await presence.touch(sha256, size));
    if (isNew) await writeBytes(paths.of(sha256), content);
    return { sha256, size, isNew };
  }

  async function putStream(content: AsyncIterable<Uint8Array>): Promise<KeptBlob> {
    let kept: KeptBlob = { sha256: '', size: 0, isNew: true };
    await files.writeWhole(paths.incoming, async (append) => {
      const { sha256, size } = await measureStream(content, append);
      kept = { sha256, size, isNew: !(await presence.touch(sha256, size)) };
      return kept.isNew ? paths.of(sha256) : null;
    });
    return kept;
  }

  async function putOpened(file: FileHandle): Promise<KeptBlob> {
    const whole = () => file.createReadStream({ start: 0, autoClose: false });
    const { sha256, size } = await measureStream(whole());
    return (await presence.touch(sha256, size)) ? { sha256, size, isNew: false } : putStream(whole());
  }

  return {
    put: (content) => withRoom(content instanceof Uint8Array ? putBytes(content) : putStream(content)),
    async putFile(place) {
      const content = readSmall(place);
      if (content !== null) return setImmediate().then(() => withRoom(putBytes(content)));
      const file = await open(place, plainFile);
      return withRoom(putOpened(file)).finally(() => file.close());
    },
    async encode(sha256) {
      const [blob, place] = [paths.of(sha256), paths.codingsOf(sha256)];
      await files.ensure(paths.incoming);
      const isThere = await withRoom(codings.run({ blob, place, aside: paths.incoming }));
      if (!isThere) throw gone();
    },
    async sizes(sha256) {
      const whole = await stat(paths.of(sha256)).catch(absentAs(null));
      if (whole === null) return null;
      const { br, gzip } = (await codingsOf(sha256)) ?? {};
      return { identity: whole.size, ...(br && { br: br.size }), ...(gzip && { gzip: gzip.size }) };
    },
    async *read(sha256, { encoding, range } = {}) {
      const coding = encoding && (await codingsOf(sha256))?.[encoding];
      if (encoding && !coding) throw gone();
      const file = await open(coding ? paths.codingsOf(sha256) : paths.of(sha256), 'r').catch(absentAs(null));
      if (file === null) throw gone();
      const { start, size } = coding ?? { start: 0, size: Number.POSITIVE_INFINITY };
      const part = { start: start + (range?.start ?? 0), end: start + (range?.end ?? size - 1) };
      try {
        yield* file.createReadStream({ autoClose: false, ...part }) as AsyncIterable<Buffer>;
      } finally {
        await file.close();
      }
    },
    missing: (sha256s) => presence.missing(sha256s),
    async verify(sha256) {
      const found = await measureStream(createReadStream(paths.of(sha256))).catch(absentAs(null));
      if (found === null) return 'missing';
      return found.sha256 === sha256 ? 'intact' : 'corrupted';
    },
    sweep: (live, before) => sweepBlobs(root, paths, live, before.getTime()),
  };
}
