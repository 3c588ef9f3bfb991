import { expect, it } from 'vitest';
import { forEachConcurrently } from '../../src/lib/concurrency.ts';
import fc from '../support/properties.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('works on every item once, in order, and never on more than it may at a time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: 4 }), { maxLength: 40 }),
      fc.integer({ min: 1, max: 9 }),
      async (items, together) => {
        let running = 0;
        let most = 0;
        const begun: number[] = [];
        await forEachConcurrently(items, together, async (turns, index) => {
          begun.push(index);
          most = Math.max(most, ++running);
          for (let left = turns; left > 0; left -= 1) await turn();
          running -= 1;
        });
        expect(begun).toEqual(items.map((_, index) => index));
        expect(running).toBe(0);
        expect(most).toBeLessThanOrEqual(together);
      },
    ),
    { numRuns: 40 },
  );
});

it('ends at the first failure, when what had begun is over', async () => {
  const ended: number[] = [];
  const working = forEachConcurrently([0, 1, 2, 3, 4, 5], 3, async (item) => {
    if (item === 1) throw new Error('no more');
    for (let left = 10; left > 0; left -= 1) await turn();
    ended.push(item);
  });
  await expect(working).rejects.toThrow('no more');
  expect(ended).toEqual([0, 2]);
});

it('passes on what its source throws, when what had begun is over', async () => {
  let over = false;
  async function* source() {
    yield 1;
    throw new Error('dried up');
  }
  const working = forEachConcurrently(source(), 3, async () => {
    for (let left = 5; left > 0; left -= 1) await turn();
    over = true;
  });
  await expect(working).rejects.toThrow('dried up');
  expect(over).toBe(true);
});
