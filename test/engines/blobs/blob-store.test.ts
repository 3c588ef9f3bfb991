import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBlobStore } from '../../../src/engines/blobs/blob-store.ts';
import type { BlobStore, ReadBlobOptions } from '../../../src/ports/blobs.ts';
import fc from '../../support/properties.ts';

let root: string;
let blobs: BlobStore;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'portico-blobs-'));
  blobs = createBlobStore(root);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const hashOf = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');
const placeOf = (sha256: string) => path.join(root, sha256.slice(0, 2), sha256.slice(2));
const anHourAgo = () => new Date(Date.now() - 3600_000);
const aging = (place: string) => utimes(place, new Date(0), new Date(0));

async function read(sha256: string, options?: ReadBlobOptions): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of blobs.read(sha256, options)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* inPieces(content: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

/** Everything in the store that is a file, relative. */
async function filesIn(): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
}

describe('a blob on disk', () => {
  it('lies below the first two digits of its hash, for its owner alone', async () => {
    const { sha256 } = await blobs.put(Buffer.from('hello'));
    expect(await filesIn()).toEqual([`2c/${sha256.slice(2)}`]);
    expect((await stat(placeOf(sha256))).mode & 0o777).toBe(0o600);
  });

  it('is kept once when it is put many times at once', async () => {
    const content = randomBytes(200_000);
    const kept = await Promise.all(Array.from({ length: 20 }, () => blobs.put(inPieces(content, 10_000))));
    expect(new Set(kept.map(({ sha256 }) => sha256))).toEqual(new Set([hashOf(content)]));
    expect(await filesIn()).toHaveLength(1);
    expect(await read(hashOf(content))).toEqual(content);
  });

  it('is kept with many others that are put at the same time, some of them twice', async () => {
    const contents = Array.from({ length: 400 }, (_, index) => randomBytes(15_000 + (index % 7)));
    const twice = contents.slice(0, 50);
    await Promise.all([...contents, ...twice].map((content) => blobs.put(content)));
    expect(await filesIn()).toHaveLength(400);
    // By another process nothing is known but what lies on the disk.
    const others = createBlobStore(root);
    expect(await others.missing(contents.map(hashOf))).toEqual(new Set());
    for (const content of contents) expect(await others.verify(hashOf(content))).toBe('intact');
  });

  it('is put from a file, small or large, and copied only once', async () => {
    for (const size of [0, 10, 64 * 1024, 64 * 1024 + 1, 3_000_000]) {
      const file = path.join(root, 'a-file');
      const content = randomBytes(size);
      await writeFile(file, content);
      expect(await blobs.putFile(file)).toEqual({ sha256: hashOf(content), size, isNew: true });
      const { ino } = await stat(placeOf(hashOf(content)));
      expect(await blobs.putFile(file)).toEqual({ sha256: hashOf(content), size, isNew: false });
      expect((await stat(placeOf(hashOf(content)))).ino).toBe(ino);
      expect(await read(hashOf(content))).toEqual(content);
    }
  });

  it('leaves nothing when it does not come to its end', async () => {
    const broken = async function* () {
      yield Buffer.alloc(100_000);
      throw new Error('cut off');
    };
    await expect(blobs.put(broken())).rejects.toThrow('cut off');
    expect(await filesIn()).toEqual([]);
  });

  it('is written again when a loss of power cut it short', async () => {
    const content = Buffer.from('all of it');
    const { sha256 } = await blobs.put(content);
    await writeFile(placeOf(sha256), 'all');
    expect(await blobs.put(content)).toMatchObject({ isNew: true });
    expect(await read(sha256)).toEqual(content);
  });

  it('detects that its bytes are no longer those of its name', async () => {
    const { sha256 } = await blobs.put(Buffer.from('good'));
    expect(await blobs.verify(sha256)).toBe('intact');
    await writeFile(placeOf(sha256), 'evil');
    expect(await blobs.verify(sha256)).toBe('corrupted');
    await rm(placeOf(sha256));
    expect(await blobs.verify(sha256)).toBe('missing');
  });
});

describe('the codings of a blob', () => {
  it('are not kept where they would be larger, nor made twice', async () => {
    const noise = await blobs.put(randomBytes(4096));
    await blobs.encode(noise.sha256);
    expect(await blobs.sizes(noise.sha256)).toEqual({ identity: 4096 });
    await expect(read(noise.sha256, { encoding: 'br' })).rejects.toMatchObject({ code: 'not_found' });
    for (const { sha256 } of [noise, await blobs.put(Buffer.alloc(4096))]) {
      await blobs.encode(sha256);
      const { ino } = await stat(`${placeOf(sha256)}.codings`);
      await blobs.encode(sha256);
      expect((await stat(`${placeOf(sha256)}.codings`)).ino).toBe(ino);
    }
  });

  it('are made by a thread that gives way to everything else', async () => {
    const { sha256 } = await blobs.put(Buffer.from('<p>again and again</p>\n'.repeat(200)));
    await blobs.encode(sha256);
    const threads = await Promise.all(
      (await readdir('/proc/self/task')).map((id) => readFile(`/proc/self/task/${id}/stat`, 'utf8').catch(() => '')),
    );
    // Field 19 is the nice value (proc_pid_stat(5)); the first two end with the last parenthesis.
    const nice = threads.map((stat) => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]));
    expect(nice).toContain(19);
    expect(nice).toContain(0);
  });

  it('that cannot be written are an error for the caller, and the next ones are made', async () => {
    const { sha256 } = await blobs.put(Buffer.from('<p>again and again</p>\n'.repeat(200)));
    await blobs.encode(sha256);
    await rm(`${placeOf(sha256)}.codings`);
    await mkdir(`${placeOf(sha256)}.codings`);
    await expect(blobs.encode(sha256)).rejects.toMatchObject({ code: 'EISDIR' });
    await rm(`${placeOf(sha256)}.codings`, { recursive: true });
    await blobs.encode(sha256);
    expect(await blobs.sizes(sha256)).toHaveProperty('br');
    await expect(blobs.encode('0'.repeat(64))).rejects.toMatchObject({ code: 'not_found' });
  });

  it('are made again when a loss of power left them cut short or with other bytes', async () => {
    const content = Buffer.from('<p>again</p>'.repeat(500));
    const { sha256 } = await blobs.put(content);
    await blobs.encode(sha256);
    const file = `${placeOf(sha256)}.codings`;
    const whole = await readFile(file);
    const zeroed = Buffer.concat([whole.subarray(0, 16), Buffer.alloc(whole.length - 16)]);
    for (const damaged of [Buffer.alloc(0), whole.subarray(0, 10), whole.subarray(0, -1), zeroed]) {
      await writeFile(file, damaged);
      expect(await blobs.sizes(sha256)).toEqual({ identity: content.length });
      await blobs.encode(sha256);
      expect(await readFile(file)).toEqual(whole);
    }
  });
});

describe('a sweep', () => {
  it('removes exactly what has no reference and was not put within the grace period', async () => {
    const contents = fc.uniqueArray(fc.uint8Array({ minLength: 1, maxLength: 40 }), {
      minLength: 1,
      maxLength: 12,
      selector: (content) => hashOf(content),
    });
    await fc.assert(
      fc.asyncProperty(contents, fc.infiniteStream(fc.tuple(fc.boolean(), fc.boolean())), async (all, fates) => {
        const live = new Set<string>();
        const expected = new Set<string>();
        for (const content of all) {
          const { sha256 } = await blobs.put(content);
          const [isLive, isOld] = fates.next().value as [boolean, boolean];
          if (isOld) await aging(placeOf(sha256));
          if (isLive) live.add(sha256);
          if (isOld && !isLive) expected.add(sha256);
        }
        const { removed, kept } = await blobs.sweep(live, anHourAgo());
        expect(removed).toBe(expected.size);
        expect(kept).toBe(all.length - expected.size);
        expect(await blobs.missing(all.map(hashOf))).toEqual(expected);
        await rm(root, { recursive: true });
        await mkdir(root);
        blobs = createBlobStore(root);
      }),
      { numRuns: 40 },
    );
  });

  it('removes the codings with their blob, and counts them', async () => {
    const { sha256 } = await blobs.put(Buffer.alloc(5000));
    await blobs.encode(sha256);
    const codings = await stat(`${placeOf(sha256)}.codings`);
    await aging(placeOf(sha256));
    expect(await blobs.sweep(new Set(), anHourAgo())).toEqual({ kept: 0, removed: 1, bytes: 5000 + codings.size });
    expect(await filesIn()).toEqual([]);
  });

  it('spares what was put again, or requested, since it was made', async () => {
    const [put, missed] = [await blobs.put(Buffer.from('put')), await blobs.put(Buffer.from('missed'))];
    for (const { sha256 } of [put, missed]) await aging(placeOf(sha256));
    await blobs.put(Buffer.from('put'));
    expect(await blobs.missing([missed.sha256])).toEqual(new Set());
    expect(await blobs.sweep(new Set(), anHourAgo())).toMatchObject({ removed: 0, kept: 2 });
  });

  it('clears what a killed put left, once it is old', async () => {
    await blobs.put(Buffer.from('x'));
    const [young, old] = [path.join(root, 'incoming', 'young'), path.join(root, 'incoming', 'old')];
    for (const place of [young, old]) await writeFile(place, 'half');
    await aging(old);
    await blobs.sweep(new Set(), anHourAgo());
    expect(await readdir(path.join(root, 'incoming'))).toEqual(['young']);
  });

  it.each([
    ['29 minutes', 29, false],
    ['31 minutes', 31, true],
  ])('finds a blob of %s made young by a put and by a query, or young enough', async (_name, minutes, isTouched) => {
    const content = Buffer.from('again');
    const { sha256 } = await blobs.put(content);
    for (const again of [() => blobs.put(content), () => blobs.missing([sha256])]) {
      const then = new Date(Date.now() - minutes * 60_000);
      await utimes(placeOf(sha256), then, then);
      await again();
      expect((await stat(placeOf(sha256))).mtimeMs > then.getTime() + 1_000).toBe(isTouched);
    }
  });

  it('finishes one that was killed with blobs in its hands, and gives back what has become live or young', async () => {
    const shas: string[] = [];
    for (const text of ['live', 'young', 'dead']) shas.push((await blobs.put(Buffer.from(text))).sha256);
    const [live, young, dead] = shas as [string, string, string];
    await mkdir(path.join(root, 'leaving'));
    for (const sha256 of shas) await rename(placeOf(sha256), path.join(root, 'leaving', sha256));
    for (const sha256 of [live, dead]) await aging(path.join(root, 'leaving', sha256));
    await blobs.sweep(new Set([live]), anHourAgo());
    expect(await blobs.missing(shas)).toEqual(new Set([dead]));
    expect(await readFile(placeOf(young), 'utf8')).toBe('young');
    expect(await readdir(path.join(root, 'leaving'))).toEqual([]);
  });

  it('never takes a blob from those who put it at the same time', async () => {
    const contents = Array.from({ length: 30 }, (_, index) => Buffer.from(`content ${index}`));
    for (let round = 0; round < 5; round += 1) {
      for (const content of contents) {
        await blobs.put(content);
        await aging(placeOf(hashOf(content)));
      }
      await Promise.all([blobs.sweep(new Set(), anHourAgo()), ...contents.map((content) => blobs.put(content))]);
      expect(await blobs.missing(contents.map(hashOf))).toEqual(new Set());
    }
  });
});
