import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { createSpools } from '../../src/engines/spool/spool.ts';
import fc from '../support/properties.ts';

const roots: string[] = [];
afterEach(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true });
});

async function newDirectory(): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), 'portico-spool-'));
  roots.push(root);
  return path.join(root, 'spool');
}

const chunks = async function* (...parts: readonly Uint8Array[]) {
  yield* parts;
};

async function bytesOf(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

it('gives every content back as it came, in any order and as often as it is read', async () => {
  const spools = createSpools(await newDirectory());
  const contents = fc.array(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 5 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(contents, async (given) => {
      const spool = spools.open();
      const kept = [];
      for (const parts of given) kept.push(await spool.add(chunks(...parts), 250));
      for (const at of [...kept.keys()].reverse().flatMap((index) => [index, index])) {
        const whole = Buffer.concat(given[at] ?? []);
        expect(kept[at]?.size).toBe(whole.length);
        expect(await bytesOf(kept[at]?.read() ?? chunks())).toEqual(whole);
      }
      await spool.close();
      expect(spools.held).toBe(0);
    }),
    { numRuns: 50 },
  );
});

it('takes a content of the limit and refuses one byte more', async () => {
  const spool = createSpools(await newDirectory()).open();
  expect((await spool.add(chunks(Buffer.alloc(6), Buffer.alloc(4)), 10)).size).toBe(10);
  await expect(spool.add(chunks(Buffer.alloc(6), Buffer.alloc(5)), 10)).rejects.toMatchObject({ code: 'too_large' });
  await spool.close();
});

it('shows no name while it holds a content, removes what a crash left, and makes nothing before the first content', async () => {
  const directory = await newDirectory();
  const spools = createSpools(directory);
  const spool = spools.open();
  await expect(readdir(directory)).rejects.toMatchObject({ code: 'ENOENT' });
  await mkdir(directory);
  await writeFile(path.join(directory, 'left'), '');
  const kept = await spool.add(chunks(Buffer.from('abc')), 3);
  expect([await readdir(directory), spools.held]).toEqual([[], 1]);
  await spool.close();
  await spool.close();
  expect(spools.held).toBe(0);
  await expect(bytesOf(kept.read())).rejects.toThrow();
  await expect(spool.add(chunks(), 1)).rejects.toThrow('the spool is closed');
});
