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

it('versions are kept by what they weigh together, one that weighs more than all not at all', async () => {
  const cache = new VersionCache<string>({ versions: 4, subjects: 4, weight: { most: 6, of: ({ length }) => length } });
  const derived: string[] = [];
  const get = (version: string) =>
    cache.of('site', version, async () => {
      derived.push(version);
      return version;
    });
  for (const version of ['a', 'b', 'ccc', 'a']) await get(version);
  expect(derived.splice(0)).toEqual(['a', 'b', 'ccc']);
  await get('dddd');
  for (const version of ['dddd', 'a', 'b', 'ccc']) await get(version);
  expect(derived.splice(0)).toEqual(['dddd', 'b', 'ccc']);
  expect(await Promise.all([get('1234567'), get('1234567')])).toEqual(['1234567', '1234567']);
  await get('1234567');
  expect(derived.splice(0)).toEqual(['1234567', '1234567']);
  cache.set('site', '7654321', '7654321');
  await get('7654321');
  expect(derived).toEqual(['7654321']);
});

it('the last value of the subject in use stays, however much it weighs, and others go with their weight', async () => {
  const cache = new VersionCache<string>({ versions: 1, subjects: 4, weight: { most: 6, of: ({ length }) => length } });
  const latest: (string | undefined)[] = [];
  const get = (subject: string, value: string) =>
    cache.of(subject, value, async (before) => {
      latest.push(before);
      return value;
    });
  for (const [subject, value] of [
    ['one', 'aaa'],
    ['two', 'bb'],
    ['one', 'cccc'],
    ['two', 'ddd'],
    ['one', '12345678'],
    ['one', '123456789'],
    ['two', 'e'],
    ['one', 'f'],
  ] as const)
    await get(subject, value);
  // `ddd` and `cccc` do not fit together, nor anything beside what weighs more than all.
  expect(latest).toEqual([undefined, undefined, 'aaa', 'bb', undefined, '12345678', undefined, undefined]);
});

it('a subject whose version is known is in use', async () => {
  const cache = new VersionCache<string>({ versions: 4, subjects: 2 });
  for (const subject of ['one', 'two', 'one', 'three']) await cache.of(subject, '1', async () => subject);
  expect(await cache.of('one', '2', async (latest) => `after ${latest}`)).toBe('after one');
});
