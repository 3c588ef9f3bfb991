import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonValue } from '../../src/kernel/shapes.ts';
import fc from '../support/properties.ts';

/** Values that are JSON but for some of their leaves. */
const almost = fc.letrec((tie) => ({
  leaf: fc.oneof(
    { weight: 9, arbitrary: fc.jsonValue({ maxDepth: 0 }) },
    fc.constantFrom<unknown>(undefined, Number.NaN, Number.POSITIVE_INFINITY, 1n, new Date(0), new Map(), () => 1),
  ),
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.string().filter((name) => name !== '__proto__'),
      tie('value'),
      { maxKeys: 4, noNullPrototype: false },
    ),
  ),
})).value;

describe('any JSON value', () => {
  it("is what zod's own schema takes, and has the same faults", () => {
    fc.assert(
      fc.property(almost, (value) => {
        const own = z.object({ value: jsonValue.optional().describe('As inputs have it') }).safeParse({ value });
        const zods = z.object({ value: z.json().optional() }).safeParse({ value });
        expect(own.success).toBe(zods.success);
        const faults = ({ error }: typeof own) => error?.issues.map(({ code, path }) => ({ code, path }));
        expect(faults(own)).toEqual(faults(zods));
      }),
    );
  });

  it('is passed on as it is: nothing of it is copied', () => {
    const value = { a: [{ b: 1 }] };
    for (const schema of [
      jsonValue,
      jsonValue.optional(),
      jsonValue.describe('A copy'),
      jsonValue.describe('A').meta({}),
    ])
      expect(z.object({ value: schema }).parse({ value }).value).toBe(value);
  });

  it('may be nested 10,000 levels deep', () => {
    let value: unknown = 1;
    for (let level = 0; level < 10_000; level += 1) value = level % 2 ? [value] : { a: value };
    expect(jsonValue.safeParse(value).success).toBe(true);
  });
});
