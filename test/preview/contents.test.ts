import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createBlobStore } from '../../src/engines/blobs/blob-store.ts';
import { Contents } from '../../src/preview/contents.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'portico-contents-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

it('finds codings that were made after it had looked, within five seconds', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  const blobs = createBlobStore(root);
  const contents = new Contents(blobs);
  const { sha256 } = await blobs.put(Buffer.from('<p>again</p>'.repeat(500)));
  expect(await contents.sizes(sha256)).toEqual({ identity: 6000 });
  await blobs.encode(sha256);
  now.mockReturnValue(6_000);
  expect(await contents.sizes(sha256)).toEqual({ identity: 6000 });
  now.mockReturnValue(6_002);
  // The cache looks at the clock once a millisecond.
  await vi.waitFor(async () => expect(await contents.sizes(sha256)).toHaveProperty('br'), {
    timeout: 60_000,
  });
});
