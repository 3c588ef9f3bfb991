import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { blobPaths } from '../../../src/engines/blobs/blob-paths.ts';
import { createBlobStore } from '../../../src/engines/blobs/blob-store.ts';
import { DurableDirectories } from '../../../src/engines/blobs/durable-file.ts';
import { BlobJournal, encodeRecord, isWhole, namesIn, recordsOf } from '../../../src/engines/blobs/journal.ts';
import fc from '../../support/properties.ts';

let root: string;
const blobsIn = () => path.join(root, 'blobs');
const directory = () => path.join(root, 'journal');

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'portico-journal-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const hashOf = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');
const placeOf = (sha256: string) => blobPaths(blobsIn()).of(sha256);
const journals = async () => (await readdir(directory())).map((name) => path.join(directory(), name));

/** A journal of a process that began since the machine was started for the so-many-th time. */
const journalOf = (boot: string | null, rest = 3_600_000) =>
  new BlobJournal({
    directory: directory(),
    paths: blobPaths(blobsIn()),
    directories: new DurableDirectories(),
    rest,
    boot,
  });

async function keep(journal: BlobJournal, contents: readonly Buffer[]): Promise<string[]> {
  const names = contents.map(hashOf);
  await Promise.all(contents.map((content, index) => journal.keep(names[index] ?? '', content)));
  return names;
}

const some = (count: number) => Array.from({ length: count }, (_, index) => randomBytes(1_000 + index));

describe('records of a journal', () => {
  const contents = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });

  it('come back as they were written, up to the one that was cut short', () => {
    fc.assert(
      fc.property(contents, fc.nat(3_000), (given, cut) => {
        const encoded = given.map((content) => Buffer.concat(encodeRecord({ sha256: hashOf(content), content })));
        const whole = Buffer.concat(encoded);
        const size = Math.min(cut, whole.length);
        const ends = encoded.map((_, index) =>
          encoded.slice(0, index + 1).reduce((sum, { length }) => sum + length, 0),
        );
        const complete = ends.filter((end) => end <= size).length;
        const found = [...recordsOf(whole.subarray(0, size))];
        expect(found.every(isWhole)).toBe(true);
        expect(found.map(({ content }) => Buffer.from(content))).toEqual(
          given.slice(0, complete).map((content) => Buffer.from(content)),
        );
      }),
    );
  });
});

describe('names of a journal', () => {
  it.each([0, 1, 35, 36, 37])('are those of its records, also without its last %i bytes', async (cut) => {
    const contents = [...some(3), Buffer.alloc(0), ...some(2)];
    const whole = Buffer.concat(contents.flatMap((content) => encodeRecord({ sha256: hashOf(content), content })));
    const place = path.join(root, 'names');
    await writeFile(place, whole.subarray(0, whole.length - cut));
    const file = await open(place, 'r');
    const names = [...namesIn(file.fd)];
    await file.close();
    expect(names).toEqual([...recordsOf(await readFile(place))].map(({ sha256 }) => sha256));
  });
});

describe('a journal of blobs', () => {
  it('keeps what it resolved with under its name, all in one file', async () => {
    const contents = some(30);
    const names = await keep(journalOf('first'), contents);
    for (const [index, name] of names.entries()) expect(await readFile(placeOf(name))).toEqual(contents[index]);
    const [place, ...others] = await journals();
    expect(others).toEqual([]);
    const records = [...recordsOf(await readFile(place ?? ''))];
    expect(records.map(({ sha256 }) => sha256)).toEqual(names);
    expect(await readdir(path.join(blobsIn(), 'incoming'))).toEqual([]);
  });

  it.each([3, 30])('says why %i contents could not be given their names, and goes on', async (count) => {
    const journal = journalOf('first');
    const incoming = path.join(blobsIn(), 'incoming');
    await keep(journal, some(1));
    await rm(incoming, { recursive: true });
    await expect(keep(journal, some(count))).rejects.toMatchObject({ code: 'ENOENT' });
    await mkdir(incoming);
    const contents = some(count);
    const names = await keep(journal, contents);
    for (const [index, name] of names.entries()) expect(await readFile(placeOf(name))).toEqual(contents[index]);
  });

  it('brings back after a loss of power what was lost, emptied or damaged, and leaves alone what is whole', async () => {
    const contents = some(4);
    const names = await keep(journalOf('first'), contents);
    const [lost = '', empty = '', damaged = ''] = names;
    await rm(placeOf(lost));
    await truncate(placeOf(empty));
    await writeFile(placeOf(damaged), Buffer.alloc(contents[2]?.length ?? 0));
    journalOf('second');
    for (const [index, name] of names.entries()) expect(await readFile(placeOf(name))).toEqual(contents[index]);
  });

  it('believes nothing of a journal from a damaged record on', async () => {
    const contents = some(3);
    const [first = '', second = '', third = ''] = await keep(journalOf('first'), contents);
    const [place = ''] = await journals();
    const bytes = await readFile(place);
    const at = 36 + (contents[0]?.length ?? 0) + 36;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await writeFile(place, bytes);
    for (const name of [first, second, third]) await rm(placeOf(name));
    journalOf('second');
    expect(await readFile(placeOf(first))).toEqual(contents[0]);
    for (const name of [second, third]) await expect(readFile(placeOf(name))).rejects.toThrow('ENOENT');
  });

  it('does not read again what the machine still has, but where it cannot know that', async () => {
    const [name = ''] = await keep(journalOf('first'), some(1));
    await rm(placeOf(name));
    journalOf('first');
    await expect(readFile(placeOf(name))).rejects.toThrow('ENOENT');
    journalOf(null);
    expect(hashOf(await readFile(placeOf(name)))).toBe(name);
  });

  it('begins anew when another process has taken it over, and loses nothing', async () => {
    const ours = journalOf('first');
    const before = await keep(ours, some(2));
    journalOf('first');
    const after = await keep(ours, some(2));
    expect(await journals()).toHaveLength(2);
    for (const name of [...before, ...after]) await rm(placeOf(name));
    journalOf('second');
    for (const name of [...before, ...after]) expect(hashOf(await readFile(placeOf(name)))).toBe(name);
  });

  it('is given up once its files are surely on the disk', async () => {
    const [name = ''] = await keep(journalOf('first'), some(1));
    journalOf('second', 1);
    await vi.waitFor(async () => expect(await journals()).toEqual([]), { timeout: 60_000 });
    expect(hashOf(await readFile(placeOf(name)))).toBe(name);
  });

  it('begins another beyond its size', async () => {
    const ours = journalOf('first');
    const contents = Array.from({ length: 140 }, () => randomBytes(64 * 1024));
    await keep(ours, contents);
    await keep(ours, some(1));
    expect(await journals()).toHaveLength(2);
  });

  it('refuses what cannot be written, and goes on', async () => {
    const ours = journalOf('first');
    const [content = Buffer.alloc(0)] = some(1);
    await writeFile(directory(), '');
    await expect(ours.keep(hashOf(content), content)).rejects.toThrow();
    await rm(directory());
    await ours.keep(hashOf(content), content);
    expect(await readFile(placeOf(hashOf(content)))).toEqual(content);
  });
});

describe('a store with a journal', () => {
  it.each([
    ['at most 64 KiB', 64 * 1024, 1],
    ['more', 64 * 1024 + 1, 0],
  ])('puts contents of %s there or not', async (_name, size, expected) => {
    const blobs = createBlobStore(blobsIn(), { journal: directory() });
    const content = randomBytes(size);
    const sha256 = hashOf(content);
    expect(await blobs.put(content)).toEqual({ sha256, size, isNew: true });
    expect(await blobs.put(content)).toEqual({ sha256, size, isNew: false });
    expect(await blobs.verify(sha256)).toBe('intact');
    expect(await journals().catch(() => [])).toHaveLength(expected);
  });

  it('writes a file anew that was cut short', async () => {
    const blobs = createBlobStore(blobsIn(), { journal: directory() });
    const content = randomBytes(1_000);
    const { sha256 } = await blobs.put(content);
    await truncate(placeOf(sha256), 10);
    expect(await blobs.put(content)).toEqual({ sha256, size: 1_000, isNew: true });
    expect(await blobs.verify(sha256)).toBe('intact');
  });
});
