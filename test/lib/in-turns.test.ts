import { expect, it } from 'vitest';
import { forEachYielding } from '../../src/lib/concurrency.ts';

const busy = (milliseconds: number) => {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
};

it('takes every item in order, and lets others have their turn while it takes long', async () => {
  const order: (number | 'other')[] = [];
  setImmediate(() => order.push('other'));
  await forEachYielding([1, 2, 3], (item) => {
    busy(25);
    order.push(item);
  });
  expect(order).toEqual([1, 'other', 2, 3]);
});

it('is done at once when it takes no time', async () => {
  const order: (number | 'other')[] = [];
  setImmediate(() => order.push('other'));
  await forEachYielding([1, 2], (item) => order.push(item));
  expect(order).toEqual([1, 2]);
});
