import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createKeyCache } from '../../../src/domain/keys/secrets.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A loader that remembers the buffers it gave away. */
function loader() {
  const given: Buffer[] = [];
  const load = async () => {
    const key = Buffer.alloc(32, given.length + 1);
    given.push(key);
    return key;
  };
  return { given, load };
}

const first = (key: Uint8Array) => key[0];

describe('key cache', () => {
  it('loads once for callers that miss together', async () => {
    const { given, load } = loader();
    const cache = createKeyCache();
    const answers = await Promise.all([1, 2, 3].map(() => cache.with('a', load, first)));
    expect(answers).toEqual([1, 1, 1]);
    expect(given).toHaveLength(1);
  });

  it('forgets five minutes after loading, however often the key is used, and wipes it', async () => {
    const { given, load } = loader();
    const cache = createKeyCache();
    for (let minute = 0; minute < 5; minute++) {
      expect(await cache.with('a', load, first)).toBe(1);
      vi.advanceTimersByTime(59_000);
    }
    vi.advanceTimersByTime(6_000);
    expect(given[0]).toEqual(Buffer.alloc(32));
    expect(await cache.with('a', load, first)).toBe(2);
  });

  it('wipes what is pushed out, and everything on clear', async () => {
    const { given, load } = loader();
    const cache = createKeyCache({ max: 2 });
    for (const id of ['a', 'b', 'c']) await cache.with(id, load, first);
    expect(given.map(first)).toEqual([0, 2, 3]);
    cache.clear();
    expect(given.map(first)).toEqual([0, 0, 0]);
  });

  it('does not remember a failure', async () => {
    const { load } = loader();
    const cache = createKeyCache();
    await expect(cache.with('a', () => Promise.reject(new Error('away')), first)).rejects.toThrow('away');
    expect(await cache.with('a', load, first)).toBe(1);
  });
});
