import { describe, expect, it } from 'vitest';
import { filterYielding, findYielding, mapYielding, setYielding, sortYielding } from '../../src/lib/concurrency.ts';
import { iterationsDuring } from '../support/loop-iterations.ts';
import fc from '../support/properties.ts';

describe('sortYielding', () => {
  it('orders as toSorted does, equal items as they were', async () => {
    const some = fc.array(fc.record({ key: fc.integer({ min: 0, max: 20 }), at: fc.nat() }), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(some, fc.integer({ min: 1, max: 150 }), async (few, times) => {
        const items = Array.from({ length: times }, () => few).flat();
        const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
        expect(await sortYielding(items, compare)).toEqual(items.toSorted(compare));
      }),
      { numRuns: 100 },
    );
  });

  it('gives way while many items are sorted', async () => {
    const items = Array.from({ length: 300_000 }, (_, at) => (at * 7_919) % 300_007);
    const steps = iterationsDuring(async () => {
      expect((await sortYielding(items, (a, b) => a - b)).slice(0, 3)).toEqual([0, 1, 2]);
    });
    expect(await steps).toBeGreaterThan(20);
  });
});

it('items are mapped, filtered, found and put into a set in many steps', async () => {
  const items = Array.from({ length: 2_000 }, (_, at) => at);
  const works: [() => Promise<unknown>, unknown][] = [
    [() => mapYielding(items, (item, at) => item + at), items.map((item) => 2 * item)],
    [() => filterYielding(items, (item, at) => item === at && item % 2 === 0), items.filter((item) => item % 2 === 0)],
    [() => findYielding(items, (item) => item === 1_999), 1_999],
    [() => setYielding(items, (item) => item % 3), new Set([0, 1, 2])],
  ];
  for (const [work, expected] of works) {
    const steps = iterationsDuring(async () => {
      expect(await work()).toEqual(expected);
    });
    expect(await steps).toBeGreaterThan(50);
  }
});
