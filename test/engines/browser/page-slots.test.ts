import { expect, it } from 'vitest';
import { PageSlots } from '../../../src/engines/browser/chromium-browser.ts';

const never = new AbortController().signal;

/** Which of these requests have a slot by now. */
async function entered(slots: PageSlots, requests: readonly [number, number][], signal = never): Promise<number[]> {
  const order: number[] = [];
  for (const [index, [group, most]] of requests.entries())
    void slots.enter(group, most, signal).then(
      () => order.push(index),
      () => {},
    );
  await new Promise((resolve) => setImmediate(resolve));
  return order;
}

it('lets in as many as there is room for, in all and of each group', async () => {
  const slots = new PageSlots(3);
  const order = await entered(slots, [
    [1, 2],
    [1, 2],
    [1, 2],
    [2, 1],
    [2, 1],
  ]);
  expect(order).toEqual([0, 1, 3]);
  slots.leave(2);
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([0, 1, 3, 4]);
  slots.leave(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([0, 1, 3, 4, 2]);
  for (const group of [1, 1, 2]) slots.leave(group);
  expect(slots.isIdle).toBe(true);
});

it('forgets requests that were aborted', async () => {
  const slots = new PageSlots(1);
  await slots.enter(1, 1, never);
  const abort = new AbortController();
  const waiting = slots.enter(1, 1, abort.signal);
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(slots.enter(1, 1, abort.signal)).rejects.toThrow('enough');
  slots.leave(1);
  expect(slots.isIdle).toBe(true);
  await slots.enter(2, 1, never);
});
