/** What every implementation of the port `BlobStore` keeps to; what is particular to one stands in tests of its own. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBlobStore } from '../../../src/engines/blobs/blob-store.ts';
import type { BlobStore, ReadBlobOptions } from '../../../src/ports/blobs.ts';
import fc from '../../support/properties.ts';

/** Makes an empty store; `directory` is its own. */
const implementations: [name: string, make: (directory: string) => BlobStore][] = [
  ['on disk', (directory) => createBlobStore(path.join(directory, 'blobs'))],
  [
    'on disk, with a journal',
    (directory) => createBlobStore(path.join(directory, 'blobs'), { journal: path.join(directory, 'journal') }),
  ],
];

const hashOf = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');
const absent = hashOf(Buffer.from('nothing'));
const hour = 3_600_000;

async function* inPieces(content: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

describe.each(implementations)('a blob store %s', (_name, make) => {
  let directory: string;
  let blobs: BlobStore;

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'portico-blobs-'));
    blobs = make(directory);
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  async function read(sha256: string, options?: ReadBlobOptions): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of blobs.read(sha256, options)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  describe('put and read', () => {
    it('give a content back, whole and in part, however it came', async () => {
      const contents = fc.uint8Array({ maxLength: 5000 });
      await fc.assert(
        fc.asyncProperty(
          contents,
          fc.integer({ min: 1, max: 900 }),
          fc.nat(),
          fc.nat(),
          async (content, size, a, b) => {
            const sha256 = hashOf(content);
            expect(await blobs.put(inPieces(content, size))).toMatchObject({ sha256, size: content.length });
            expect(await blobs.put(content)).toEqual({ sha256, size: content.length, isNew: false });
            expect(await read(sha256)).toEqual(Buffer.from(content));
            if (content.length === 0) return;
            const [start, end] = [a % content.length, b % content.length].sort((x, y) => x - y) as [number, number];
            expect(await read(sha256, { range: { start, end } })).toEqual(
              Buffer.from(content.subarray(start, end + 1)),
            );
          },
        ),
        { numRuns: 50 },
      );
    });

    it('keep contents apart that are put at the same time, some of them twice', async () => {
      const contents = Array.from({ length: 60 }, (_, index) => randomBytes(10_000 + index * 2_000));
      const kept = await Promise.all([...contents, ...contents.slice(0, 20)].map((content) => blobs.put(content)));
      expect(new Set(kept.map(({ sha256 }) => sha256))).toEqual(new Set(contents.map(hashOf)));
      for (const content of contents) expect(await read(hashOf(content))).toEqual(content);
    });

    it('leave nothing of a stream that fails', async () => {
      const half = Buffer.alloc(100_000);
      const broken = async function* () {
        yield half;
        throw new Error('cut off');
      };
      await expect(blobs.put(broken())).rejects.toThrow('cut off');
      expect(await blobs.sizes(hashOf(half))).toBeNull();
      expect(await blobs.sweep(new Set(), new Date(Date.now() + hour))).toMatchObject({ kept: 0, removed: 0 });
    });
  });

  describe('putFile', () => {
    it.each([0, 10, 64 * 1024, 64 * 1024 + 1, 3_000_000])('keeps the content of a file of %i bytes', async (size) => {
      const file = path.join(directory, 'a-file');
      const content = randomBytes(size);
      await writeFile(file, content);
      const sha256 = hashOf(content);
      expect(await blobs.putFile(file)).toEqual({ sha256, size, isNew: true });
      expect(await blobs.putFile(file)).toEqual({ sha256, size, isNew: false });
      expect(await read(sha256)).toEqual(content);
    });

    it('refuses a link', async () => {
      await writeFile(path.join(directory, 'secret'), 'secret');
      await symlink('secret', path.join(directory, 'link'));
      await expect(blobs.putFile(path.join(directory, 'link'))).rejects.toMatchObject({ code: 'ELOOP' });
      expect(await blobs.sizes(hashOf(Buffer.from('secret')))).toBeNull();
    });
  });

  it('refuses a blob that is not there, by name', async () => {
    await expect(read(absent)).rejects.toMatchObject({ code: 'not_found' });
    await expect(blobs.encode(absent)).rejects.toMatchObject({ code: 'not_found' });
    expect(await blobs.sizes(absent)).toBeNull();
    expect(await blobs.verify(absent)).toBe('missing');
  });

  it.each(['../../etc/passwd', `${absent}x`, absent.toUpperCase(), ''])('takes %j for no name', async (name) => {
    await expect(blobs.sizes(name)).rejects.toThrow('64 hexadecimal digits');
  });

  it('finds a whole blob intact', async () => {
    const { sha256 } = await blobs.put(Buffer.from('good'));
    expect(await blobs.verify(sha256)).toBe('intact');
  });

  describe('encode', () => {
    const content = Buffer.from('<p>again</p>'.repeat(500));

    it('keeps codings that are the same content, smaller', async () => {
      const { sha256 } = await blobs.put(content);
      expect(await blobs.sizes(sha256)).toEqual({ identity: 6000 });
      await blobs.encode(sha256);
      const sizes = await blobs.sizes(sha256);
      expect(sizes).toEqual({ identity: 6000, br: expect.any(Number), gzip: expect.any(Number) });
      expect(sizes?.br).toBeLessThan(200);
      expect(brotliDecompressSync(await read(sha256, { encoding: 'br' }))).toEqual(content);
      expect(gunzipSync(await read(sha256, { encoding: 'gzip' }))).toEqual(content);
    });

    it.each(['br', 'gzip'] as const)('lets %s be read in part', async (encoding) => {
      const { sha256 } = await blobs.put(content);
      await blobs.encode(sha256);
      const whole = await read(sha256, { encoding });
      expect(await read(sha256, { encoding, range: { start: 3, end: 9 } })).toEqual(whole.subarray(3, 10));
    });

    it('keeps none that would be larger', async () => {
      const { sha256 } = await blobs.put(randomBytes(4096));
      await blobs.encode(sha256);
      expect(await blobs.sizes(sha256)).toEqual({ identity: 4096 });
      await expect(read(sha256, { encoding: 'br' })).rejects.toMatchObject({ code: 'not_found' });
    });
  });

  describe('sweep', () => {
    it('removes exactly what has no reference and is older than the grace period', async () => {
      const contents = fc.uniqueArray(fc.uint8Array({ minLength: 1, maxLength: 40 }), {
        minLength: 1,
        maxLength: 12,
        selector: hashOf,
      });
      await fc.assert(
        fc.asyncProperty(contents, fc.infiniteStream(fc.boolean()), fc.boolean(), async (all, fates, isByPart) => {
          const live = new Set<string>();
          for (const content of all) {
            const { sha256 } = await blobs.put(content);
            if (fates.next().value) live.add(sha256);
          }
          const part = async (prefix: string) => new Set([...live].filter((sha256) => sha256.startsWith(prefix)));
          const young = await blobs.sweep(new Set(), new Date(Date.now() - hour));
          expect(young).toEqual({ kept: all.length, removed: 0, bytes: 0 });
          const gone = all.filter((content) => !live.has(hashOf(content)));
          const swept = await blobs.sweep(isByPart ? part : live, new Date(Date.now() + hour));
          const bytes = gone.reduce((sum, { length }) => sum + length, 0);
          expect(swept).toEqual({ kept: live.size, removed: gone.length, bytes });
          expect(await blobs.missing(all.map(hashOf))).toEqual(new Set(gone.map(hashOf)));
          await blobs.sweep(new Set(), new Date(Date.now() + hour));
        }),
        { numRuns: 40 },
      );
    });

    it('removes the codings with their blob, and counts them', async () => {
      const { sha256 } = await blobs.put(Buffer.alloc(5000));
      await blobs.encode(sha256);
      const { bytes, ...counts } = await blobs.sweep(new Set(), new Date(Date.now() + hour));
      expect(counts).toEqual({ kept: 0, removed: 1 });
      expect(bytes).toBeGreaterThan(5000);
      expect(await blobs.sizes(sha256)).toBeNull();
      await expect(read(sha256, { encoding: 'br' })).rejects.toMatchObject({ code: 'not_found' });
    });

    it('fails with the look at what is referred to, and removes nothing', async () => {
      const { sha256 } = await blobs.put(Buffer.from('kept'));
      const failing = () => Promise.reject(new Error('no answer'));
      await expect(blobs.sweep(failing, new Date(Date.now() + hour))).rejects.toThrow('no answer');
      expect(await blobs.verify(sha256)).toBe('intact');
    });
  });
});
