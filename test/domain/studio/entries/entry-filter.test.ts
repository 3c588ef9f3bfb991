import { expect, it, vi } from 'vitest';
import { type KnownEntry, matches, readFilter } from '../../../../src/domain/studio/entries/entry-query.ts';
import fc from '../../../support/properties.ts';

const known = (field: unknown): KnownEntry => ({
  entry: { slug: 'a', path: 'a.md', oid: '' },
  facts: { frontmatter: { field }, title: '', draft: false, size: 0 },
});
const isShown = (value: unknown, tests: Record<string, unknown>) => matches(known(value), readFilter({ field: tests }));

it('a value is among others when it equals one of them', () => {
  const value = fc.oneof(fc.constantFrom('1', 'true', '', ' ', 'a', 1, 0, true, false, null, Number.NaN), fc.integer());
  const held = fc.oneof(value, fc.array(fc.oneof(value, fc.array(value))));
  fc.assert(
    fc.property(held, fc.array(value), (actual, wanted) => {
      const isAmong = wanted.some((one) => one !== null && isShown(actual, { eq: one }));
      const hasNull =
        wanted.includes(null) && (actual === null || (Array.isArray(actual) && actual.flat().includes(null)));
      expect(isShown(actual, { in: wanted })).toBe(isAmong || hasNull);
      expect(isShown(actual, { nin: wanted })).toBe(!(isAmong || hasNull));
    }),
  );
});

it('each value of a list is looked at once, however many are wanted', () => {
  let looks = 0;
  const held = new Proxy(new Array(1_000).fill('x'), {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks += 1;
      return Reflect.get(target, key, receiver);
    },
  });
  expect(isShown(held, { in: ['a', 'b', 'c'] })).toBe(false);
  expect(looks).toBe(1_000);
});

it.each(['eq', 'ne', 'lt', 'gte', 'contains'])('the text that %s wants is read once for all values', (operator) => {
  const conditions = readFilter({ field: { [operator]: '7'.repeat(200) } });
  const trim = vi.spyOn(String.prototype, 'trim');
  for (let entries = 0; entries < 3; entries += 1) matches(known(new Array(1_000).fill(1)), conditions);
  const reads = trim.mock.calls.length;
  trim.mockRestore();
  expect(reads).toBe(1);
});

it('a filter is no longer than an address can be', () => {
  const most = 16 * 1024;
  const refused = expect.objectContaining({ code: 'invalid_filter', message: 'filter: must have at most 16 KiB' });
  expect(() => readFilter({ field: { in: new Array(most / 2).fill('') } })).toThrow(refused);
  expect(() => readFilter({ ['f'.repeat(most)]: { eq: 1 } })).toThrow(refused);
  expect(readFilter({ field: { in: new Array(most / 4).fill('a') } })).toHaveLength(1);
});

it('what a text shall contain has at most 250 characters', () => {
  const refused = expect.objectContaining({
    code: 'invalid_filter',
    message: expect.stringMatching(/^filter\.field\.contains: must be at most 250 characters/),
  });
  expect(isShown(`-${'A'.repeat(250)}-`, { contains: 'a'.repeat(250) })).toBe(true);
  expect(() => readFilter({ field: { contains: 'a'.repeat(251) } })).toThrow(refused);
  // In small letters it has two characters.
  expect(() => readFilter({ field: { contains: 'İ'.repeat(126) } })).toThrow(refused);
});
