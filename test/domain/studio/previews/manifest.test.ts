import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  isEncodable,
  isServable,
  makeManifest,
  outputDigest,
  outputMime,
  readManifest,
  storeManifest,
} from '../../../../src/domain/studio/deployments/manifest.ts';
import { createBlobStore } from '../../../../src/engines/blobs/blob-store.ts';
import type { BlobStore } from '../../../../src/ports/blobs.ts';
import fc from '../../../support/properties.ts';

let root: string;
let blobs: BlobStore;
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'portico-manifest-'));
  blobs = createBlobStore(root);
});
afterAll(() => rm(root, { recursive: true }));

const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const file = fc.record({
  path: fc.oneof(name.filter(isServable), fc.constantFrom('__proto__', 'a/constructor', 'toString.html')),
  sha256: fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 }),
  size: fc.nat(),
});
const files = fc.uniqueArray(file, { selector: (each) => each.path, maxLength: 20 });

it('reads back what was stored, sorted, under its digest', async () => {
  await fc.assert(
    fc.asyncProperty(files, async (all) => {
      const manifest = makeManifest(all);
      const sha256 = await storeManifest(blobs, manifest);
      expect(sha256).toBe(outputDigest(manifest));
      expect(await readManifest(blobs, sha256)).toEqual(manifest);
      const paths = manifest.map(([each]) => each);
      expect(paths).toEqual(paths.toSorted());
    }),
    { numRuns: 50 },
  );
});

it('has one digest whatever the order, and another for any change', () => {
  fc.assert(
    fc.property(files, file, (all, more) => {
      const digest = outputDigest(makeManifest(all));
      expect(outputDigest(makeManifest(all.toReversed()))).toBe(digest);
      if (all.every((each) => each.path !== more.path))
        expect(outputDigest(makeManifest([...all, more]))).not.toBe(digest);
    }),
  );
});

it.each(['', '/a', 'a/', 'a//b', '.', '..', '../a', 'a/../b', 'a/.', 'a\\b', 'a\0', 'a\nb', '\ud800'])(
  'refuses the path %j',
  (each) => {
    expect(() => makeManifest([{ path: each, sha256: 'a'.repeat(64), size: 1 }])).toThrow('cannot be part of a URL');
  },
);

it('refuses a path twice, and keeps what merely looks odd', () => {
  const entry = { sha256: 'a'.repeat(64), size: 1 };
  expect(() =>
    makeManifest([
      { path: 'a', ...entry },
      { path: 'a', ...entry },
    ]),
  ).toThrow('twice');
  for (const each of ['..a', 'a..', '.well-known/x', 'a b', 'a?b', '...', 'ä/ö']) expect(isServable(each)).toBe(true);
});

it('refuses what is no manifest', async () => {
  for (const text of ['', '{}', '[["a"]]', '[["a","b",1,"text/html"]]']) {
    const { sha256 } = await blobs.put(Buffer.from(text));
    await expect(readManifest(blobs, sha256)).rejects.toMatchObject({ code: 'internal' });
  }
  await expect(readManifest(blobs, 'f'.repeat(64))).rejects.toMatchObject({ code: 'not_found' });
});

it.each([
  ['a.html', 'text/html', true],
  ['A.HTML', 'text/html', true],
  ['a.js', 'text/javascript', true],
  ['a.json', 'application/json', true],
  ['a.webmanifest', 'application/manifest+json', true],
  ['a.svg', 'image/svg+xml', true],
  ['a.xml', 'application/xml', true],
  ['a.rss', 'application/rss+xml', true],
  ['a.woff2', 'font/woff2', false],
  ['a.otf', 'font/otf', false],
  ['a.wasm', 'application/wasm', false],
  ['a.png', 'image/png', false],
  ['a.unknown', 'application/octet-stream', false],
  ['CNAME', 'application/octet-stream', false],
  ['__proto__', 'application/octet-stream', false],
  ['a.constructor', 'application/octet-stream', false],
])('%s is %s', (each, mime, isText) => {
  expect(outputMime(each)).toBe(mime);
  expect(isEncodable([each, 'a'.repeat(64), 1025, mime])).toBe(isText);
  expect(isEncodable([each, 'a'.repeat(64), 1024, mime])).toBe(false);
});
