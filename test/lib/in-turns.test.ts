import { expect, it } from 'vitest';
import { forEachYielding, yieldLoop } from '../../src/lib/concurrency.ts';

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

it('resumes what yields at the same time one after the other, with everything else in between', async () => {
  const order: (number | 'other')[] = [];
  const yielding = [1, 2, 3].map((name) => yieldLoop().then(() => order.push(name)));
  let isOver = false;
  const other = () => {
    order.push('other');
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  await Promise.all(yielding);
  isOver = true;
  const between = [1, 2].map((name) => order.slice(order.indexOf(name) + 1, order.indexOf(name + 1)));
  for (const others of between) expect(others).toContain('other');
  expect(order.filter((name) => name !== 'other')).toEqual([1, 2, 3]);
});
