import { expect, it } from 'vitest';
import { hasMoreValues, leastJson } from '../../src/lib/objects.ts';
import fc from '../support/properties.ts';

const container = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));

it('JSON has at least the size that was seen before it was made', () => {
  fc.assert(
    fc.property(container, fc.constantFrom(0, 2), (value, indentation) => {
      const { length } = JSON.stringify(value, null, indentation);
      expect(leastJson(value, Number.POSITIVE_INFINITY, indentation)).toBeLessThanOrEqual(length);
    }),
  );
});

it('a size is not looked for beyond what matters', () => {
  const list = Array.from({ length: 1_000 }, () => 'a'.repeat(100));
  expect(leastJson(list, Number.POSITIVE_INFINITY)).toBe(102_000);
  expect(leastJson(list, 5_000)).toBe(5_100);
  expect(leastJson({ list: [{}], text: 'abc' }, 100)).toBe(2 + 4 + 2 + 2 + 4 + 3);
});

it('values are counted at any depth', () => {
  const value = { a: [1, { b: [] }], c: null };
  expect([4, 5].map((most) => hasMoreValues(value, most))).toEqual([true, false]);
});
