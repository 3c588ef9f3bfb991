import { expect, it } from 'vitest';
import { PageSlots } from '../../../src/engines/browser/chromium-browser.ts';

const never = new AbortController().signal;

/** Which of these have had their turn by now. */
async function entered(turns: PageSlots, wants: readonly [number, number][], signal = never): Promise<number[]> {
  const order: number[] = [];
  for (const [index, [group, most]] of wants.entries())
    void turns.enter(group, most, signal).then(
      () => order.push(index),
      () => {},
    );
  await new Promise((resolve) => setImmediate(resolve));
  return order;
}

it('lets in as many as there is room for, in all and of each group', async () => {
  const turns = new PageSlots(3);
  const order = await entered(turns, [
    [1, 2],
    [1, 2],
    [1, 2],
    [2, 1],
    [2, 1],
  ]);
  expect(order).toEqual([0, 1, 3]);
  turns.leave(2);
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([0, 1, 3, 4]);
  turns.leave(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([0, 1, 3, 4, 2]);
  for (const group of [1, 1, 2]) turns.leave(group);
  expect(turns.isIdle).toBe(true);
});

it('forgets those who do not wait any more', async () => {
  const turns = new PageSlots(1);
  await turns.enter(1, 1, never);
  const abort = new AbortController();
  const waiting = turns.enter(1, 1, abort.signal);
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(turns.enter(1, 1, abort.signal)).rejects.toThrow('enough');
  turns.leave(1);
  expect(turns.isIdle).toBe(true);
  await turns.enter(2, 1, never);
});
