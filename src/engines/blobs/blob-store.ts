import { createReadStream, statSync } from 'node:fs';
import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import type { BlobStore, KeptBlob, Sha256 } from '../../domain/ports/blobs.ts';
import { blobPaths } from './blob-paths.ts';
import { BlobPresence } from './blob-presence.ts';
import { codingThread } from './codings/coding-thread.ts';
import { type Codings, findCodings } from './codings/codings.ts';
import { DurableDirectories } from './durable-file.ts';
import { absentAs, gone, withRoom } from './failures.ts';
import { measure, measureStream } from './hash.ts';
import { BlobJournal } from './journal/blob-journal.ts';
import { plainFile, readSmall } from './read-small.ts';
import { sweepBlobs } from './sweep.ts';

/** Contents up to this size may become durable in a journal; bytes. */
const journaled = 64 * 1024;

export interface BlobStoreOptions {
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
