import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { siteAddresses } from '../../src/domain/crawlers/snapshots/site-addresses.ts';
import { createBlobStore } from '../../src/engines/blobs/blob-store.ts';
import type { BlobEncoding, BlobStore } from '../../src/ports/blobs.ts';
import { Contents } from '../../src/preview/contents.ts';
import { RewrittenContents } from '../../src/preview/site/send-entry.ts';

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

describe('rewritten contents', () => {
  const addresses = siteAddresses('https://site.test', { tree: [], others: [] });
  const page = '<p>text</p>'.repeat(500);
  let held: PromiseWithResolvers<void>;
  let read: string[];
  let rewritten: RewrittenContents;

  beforeEach(() => {
    held = Promise.withResolvers();
    read = [];
    const blobs = {
      async *read(sha256: string) {
        read.push(sha256);
        await held.promise;
        yield Buffer.from(page);
      },
    };
    rewritten = new RewrittenContents(blobs as unknown as BlobStore);
  });

  const want = (sha256: string, signal = new AbortController().signal, encoding: BlobEncoding | null = 'br') => {
    const of = { sha256, kind: 'html' as const, url: 'https://site.test/', charset: 'utf-8', bytes: page.length };
    return rewritten.whole(of, addresses, encoding, signal);
  };
  /** Once contents have begun to be read, and whatever else may begin has. */
  const haveBegun = async (sha256s: readonly string[]) => {
    await vi.waitFor(() => expect(read.length).toBeGreaterThanOrEqual(sha256s.length), { timeout: 60_000 });
    for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
    expect(read).toEqual(sha256s);
  };

  it('are made once for all requests at the same time, also when one of them leaves', async () => {
    const leaving = new AbortController();
    const left = want('a', leaving.signal);
    const others = Array.from({ length: 300 }, () => want('a'));
    await haveBegun(['a']);
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    held.resolve();
    const made = await Promise.all(others);
    expect(new Set(made).size).toBe(1);
    expect(read).toEqual(['a']);
    expect((await want('a', undefined, null)).bytes.toString()).toBe(page);
    expect(read).toEqual(['a']);
  });

  it('are made again after a failure, which all requests that share it see', async () => {
    const failed = Promise.allSettled([want('a'), want('a')]);
    held.reject(new Error('unreadable'));
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    held = Promise.withResolvers();
    held.resolve();
    expect((await want('a', undefined, null)).bytes.toString()).toBe(page);
    expect(read).toEqual(['a', 'a']);
  });

  it('are made four at a time; one that no request waits for any longer leaves the queue', async () => {
    const first = ['a', 'b', 'c', 'd'].map((sha256) => want(sha256));
    const leaving = new AbortController();
    const left = [want('e', leaving.signal), want('f', leaving.signal), want('g', leaving.signal)];
    const stays = want('f');
    await haveBegun(['a', 'b', 'c', 'd']);
    leaving.abort(new Error('left'));
    const again = want('g');
    expect((await Promise.allSettled(left)).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    held.resolve();
    await Promise.all([...first, stays, again]);
    expect(read).toEqual(['a', 'b', 'c', 'd', 'f', 'g']);
  });
});
