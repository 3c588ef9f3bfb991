import { expect, it } from 'vitest';
import { retryAfter } from '../../src/lib/http-client.ts';

it.each([
  ['120', 120_000],
  [' 120 ', 120_000],
  ['0', 0],
  ['2026', 2_026_000],
  ['9'.repeat(12), 999_999_999_999_000],
  ['9'.repeat(13), null],
  [['30', '40'], 30_000],
  [[], null],
  ['Sun, 01 Mar 2026 08:01:00 GMT', 60_000],
  ['Sunday, 01-Mar-26 08:01:30 GMT', 90_000],
  ['Sun Mar  1 08:01:30 2026 GMT', 90_000],
  ['Sun, 01 Mar 2026 07:00:00 GMT', 0],
  ['Sunday, whenever', null],
  ['soon', null],
  ['-5', null],
  ['1.5', null],
  ['', null],
  [null, null],
  [undefined, null],
])('reads Retry-After as seconds or a date, and nothing else: %j', (value, expected) => {
  expect(retryAfter(value, new Date('2026-03-01T08:00:00Z'))).toBe(expected);
});
