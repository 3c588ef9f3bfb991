import { expect, it } from 'vitest';
import { z } from 'zod';
import { jsonValue, timestamp } from '../../src/kernel/shapes.ts';
import { encodeOutput, jsonBytes } from '../../src/lib/long-output.ts';
import { iterationsDuring } from '../support/loop-iterations.ts';
import fc from '../support/properties.ts';

const item = z.object({ path: z.string(), at: timestamp, size: z.int().optional() });
const tree = z.object({ name: z.string().nullable(), items: z.array(item), few: z.array(z.string()) });

const count = 2_500;
const items = Array.from({ length: count }, (_, at) => ({ path: `${at}`, at: new Date(at), hidden: true }));

it('a long list is shaped in many steps, and as a short one is', async () => {
  const output = { name: 'wide', items, few: ['a'], more: 1 };
  let shaped: unknown;
  const steps = await iterationsDuring(async () => {
    shaped = await encodeOutput(tree, output);
  });
  expect(steps).toBeGreaterThan(count / 40);
  expect(shaped).toEqual(z.encode(tree, output));
});

it('values of JSON go as they are, and are not looked at', async () => {
  const shape = z.object({ at: timestamp, body: jsonValue.describe('What came'), more: jsonValue.optional() });
  const unseen = new Proxy({}, { ownKeys: () => expect.fail('it was looked at') });
  const shaped = await encodeOutput(shape, { at: new Date(0), body: unseen, more: unseen, hidden: 1 });
  expect(Object.keys(shaped as object)).toEqual(['at', 'body', 'more']);
  expect((shaped as { body: unknown }).body).toBe(unseen);
  const short = { at: new Date(0), body: 'text' };
  expect(await encodeOutput(shape, short)).toEqual(z.encode(shape, short));
});

it('what the shape refuses is refused in a long list too', async () => {
  const wrong = [...items, { path: 'x', at: 'never' }];
  await expect(encodeOutput(tree, { name: null, items: wrong, few: [] })).rejects.toThrow();
});

it('a long list is written in several steps', async () => {
  const more = Array.from({ length: 40 }, () => items).flat();
  const written = iterationsDuring(async () => {
    expect(JSON.parse((await jsonBytes({ items: more })).toString()).items).toHaveLength(more.length);
  });
  // 200 pieces, of which each takes a millisecond by the test's clock: twenty of them are due together.
  expect(await written).toBeGreaterThan(5);
});

it('a large value is measured as often however deep it stands', async () => {
  let looks = 0;
  const members = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`member ${at}`, at]));
  const counted = new Proxy(members, {
    ownKeys(target) {
      looks += 1;
      return Reflect.ownKeys(target);
    },
  });
  const looksAt = async (levels: number) => {
    let value: unknown = counted;
    for (let level = 0; level < levels; level++) value = { fields: [value, level] };
    looks = 0;
    const written = (await jsonBytes(value)).toString();
    const found = looks;
    expect(written === JSON.stringify(value)).toBe(true);
    return found;
  };
  expect(await looksAt(50)).toBe(await looksAt(2));
});

it('a large value is written in several steps, wherever it stands', async () => {
  // The first step ends with a lone surrogate that a pair follows, others between the halves of a pair.
  const text = `${'x'.repeat(64 * 1024 - 1)}\ud800${'😊x'.repeat(3_000_000)}`;
  const many = Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`${'k'.repeat(90)}${at}`, at]));
  for (const value of [{ input: { body: { text } } }, { input: { body: [{ many }] } }, [[text]]]) {
    let written = '';
    const steps = await iterationsDuring(async () => {
      written = (await jsonBytes(value)).toString();
    });
    expect(steps).toBeGreaterThan(1);
    expect(written === JSON.stringify(value)).toBe(true);
  }
});

it('is the JSON that there would be in one step', async () => {
  const long = (member: fc.Arbitrary<unknown>) =>
    fc.tuple(member, fc.integer({ min: 0, max: 1_100 })).map(([one, length]) => Array.from({ length }, () => one));
  const member = fc.oneof(fc.jsonValue(), fc.constant(undefined), long(fc.jsonValue()), fc.object());
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.jsonValue(), long(fc.jsonValue()), fc.dictionary(fc.string(), member)),
      async (value) => {
        expect((await jsonBytes(value)).toString()).toBe(JSON.stringify(value));
      },
    ),
    { numRuns: 300 },
  );
});
