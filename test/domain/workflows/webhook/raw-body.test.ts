import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { BodyMemory, RawBody, readBody } from '../../../../src/domain/workflows/webhook/body.ts';
import { createBlobStore } from '../../../../src/engines/blobs/blob-store.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'portico-body-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const kib = 1024;
const content = randomBytes(1_000 * kib);
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const files = async () =>
  (await readdir(root, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length;

async function fill(body: RawBody, bytes: Uint8Array, piece: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += piece) await body.add(bytes.subarray(at, at + piece));
}

it.each([
  [0, 1],
  [1, 1],
  [64 * kib, 1_000],
  [64 * kib + 1, 64 * kib],
  [64 * kib + 1, 64 * kib + 1],
  [1_000 * kib, 7_001],
])('of %i bytes in pieces of %i comes back as it was', async (size, piece) => {
  const bytes = content.subarray(0, size);
  const body = new RawBody(createBlobStore(root));
  await fill(body, bytes, piece);
  await body.keep();
  const read: Uint8Array[] = [];
  for await (const part of body.read()) read.push(part);
  expect(Buffer.concat(read).equals(bytes)).toBe(true);
  expect([body.size, body.sha256]).toEqual([size, hashOf(bytes)]);
  expect(Buffer.from(body.head).equals(bytes.subarray(0, piece))).toBe(true);
  // Only what does not fit the row is in the store, and dropping it afterwards changes nothing.
  expect(body.bytes === null).toBe(size > 64 * kib);
  body.drop();
  for await (const part of body.read()) expect(part.length).toBeLessThanOrEqual(size);
});

it('leaves no trace when it is dropped', async () => {
  const before = await files();
  const blobs = createBlobStore(root);
  const put = vi.spyOn(blobs, 'put');
  const body = new RawBody(blobs);
  await fill(body, randomBytes(500 * kib), 64 * kib);
  body.drop();
  await expect(put.mock.results[0]?.value).rejects.toThrow('not wanted');
  expect(await files()).toBe(before);
});

it('waits for a disk that is behind, and no longer', async () => {
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const body = new RawBody({
    ...createBlobStore(root),
    async put(pieces) {
      await held;
      return createBlobStore(root).put(pieces);
    },
  });
  const waits: Promise<unknown>[] = [];
  for (let at = 0; waits.length === 0; at += 64 * kib) {
    expect(at).toBeLessThan(content.length);
    const wait = body.add(content.subarray(at, at + 64 * kib));
    if (wait) waits.push(wait);
  }
  goOn();
  await Promise.all(waits);
  await body.keep();
  expect(body.sha256).toBe(hashOf(content.subarray(0, body.size)));
});

it('is read to its end when the store fails, which rejects when it is kept', async () => {
  const full = new Error('no room');
  const body = new RawBody({ ...createBlobStore(root), put: () => Promise.reject(full) });
  await fill(body, content, 64 * kib);
  expect(body.size).toBe(content.length);
  await expect(body.keep()).rejects.toBe(full);
});

it('gives its memory to the next when it is released, and not before', async () => {
  const blobs = createBlobStore(root);
  const bodies = [1, 2].map(() => new RawBody(blobs));
  const memoryOf = ({ bytes }: RawBody) => bytes?.buffer;
  for (const [number, body] of bodies.entries()) await fill(body, content.subarray(number, number + 100), 30);
  const [one, other] = bodies as [RawBody, RawBody];
  expect(memoryOf(other)).not.toBe(memoryOf(one));
  const memory = memoryOf(one);
  one.release();
  expect(one.bytes).toHaveLength(0);
  one.release();
  const next = [1, 2].map(() => new RawBody(blobs));
  for (const body of next) await fill(body, content.subarray(500, 600), 100);
  expect(next.map(memoryOf).filter((own) => own === memory)).toHaveLength(1);
  expect(Buffer.from(other.bytes ?? []).equals(content.subarray(1, 101))).toBe(true);
});

it('holds no more than what waits of it, and nothing once it is over', async () => {
  const memory = new BodyMemory(1_000 * kib);
  const account = memory.open({ workflow_id: 'one', organization_id: 1 });
  const held: number[] = [];
  const call = {
    rawHeaders: ['Content-Length', String(content.length)],
    async readBody(take: (chunk: Uint8Array) => boolean | Promise<boolean>) {
      for (let at = 0; at < content.length; at += 50 * kib) {
        held.push(memory.held / kib);
        await take(content.subarray(at, at + 50 * kib));
      }
      return 'whole' as const;
    },
  };
  const reading = { limit: content.length, account, blobs: createBlobStore(root), secrets: [], signature: null };
  expect(await readBody(call, reading)).toMatchObject({ body: { size: content.length } });
  expect(held.slice(0, 8)).toEqual([0, 50, 100, 150, 200, 250, 300, 320]);
  expect(memory.held / kib).toBe(320);
  account.release();
  expect(memory.held).toBe(0);
});

it('leaves memory to other workflows, and to other organisations', () => {
  const memory = new BodyMemory(800);
  const open = (workflow_id: string, organization_id: number) => memory.open({ workflow_id, organization_id });
  const bodies = Array.from({ length: 8 }, () => open('one', 1));
  expect(bodies.map((body) => body.grow(100))).toEqual([true, true, true, true, false, false, false, false]);
  expect(Array.from({ length: 3 }, () => open('other', 1).grow(100))).toEqual([true, false, false]);
  const another = Array.from({ length: 4 }, () => open('another', 2));
  expect(another.map((body) => body.grow(100))).toEqual([true, true, false, false]);
  // An eighth is for those that have nothing.
  expect(open('last', 3).grow(100)).toBe(true);
  expect([another[0]?.grow(100), another[0]?.grow(101)]).toEqual([true, false]);
  for (const body of bodies.slice(0, 2)) body.release();
  expect([memory.held, another[0]?.grow(101)]).toEqual([600, true]);
});
