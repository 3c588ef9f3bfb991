import { expect, it } from 'vitest';
import { VersionCache } from '../../src/lib/version-cache.ts';

const newCache = () => new VersionCache<string>({ versions: 4, subjects: 4 });
const never = () => Promise.reject(new Error('derived again'));

it('a version is derived once, for callers at the same time too, and the next one from it', async () => {
  const cache = newCache();
  const derived = await Promise.all([cache.of('site', '1', async () => 'one'), cache.of('site', '1', never)]);
  expect(derived).toEqual(['one', 'one']);
  expect(await cache.of('site', '2', async (latest) => `${latest}, two`)).toBe('one, two');
  expect(await cache.of('other', '2', async (latest) => `${latest}`)).toBe('undefined');
  expect(await cache.of('site', '1', never)).toBe('one');
});

it('a version that failed, or may not be kept, is derived again, and no other from it', async () => {
  const cache = newCache();
  await expect(cache.of('site', '1', never)).rejects.toThrow('derived again');
  const partly = () => Promise.resolve('partly');
  expect(await cache.of('site', '1', partly, () => false)).toBe('partly');
  expect(await cache.of('site', '1', async (latest) => `whole after ${latest}`)).toBe('whole after undefined');
});

it('a value that replaces another is given to callers and to the next version', async () => {
  const cache = newCache();
  await cache.of('site', '1', async () => 'old');
  cache.set('site', '1', 'new');
  expect(await cache.of('site', '1', never)).toBe('new');
  expect(await cache.of('site', '2', async (latest) => `${latest}er`)).toBe('newer');
});
