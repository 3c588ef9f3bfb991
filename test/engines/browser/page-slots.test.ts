import { expect, it } from 'vitest';
import { pageSlots } from '../../../src/engines/browser/chromium-browser.ts';

const moment = () => new Promise(setImmediate);

it('lets in as many as there is room for, in all and of each run and organisation', async () => {
  const slots = pageSlots({ organization: 3, all: 4 });
  const order: number[] = [];
  const releases: (() => void)[] = [];
  const requests = [
    [1, 1, 2],
    [1, 1, 2],
    [1, 1, 2],
    [2, 1, 1],
    [2, 1, 1],
    [3, 1, 1],
    [4, 2, 1],
    [5, 3, 1],
  ] as const;
  for (const [index, [run, organization, atOnce]] of requests.entries())
    void slots.take({ run, organization, atOnce }).then((release) => {
      order.push(index);
      releases[index] = release;
    });
  await moment();
  expect(order).toEqual([0, 1, 3, 6]);
  releases[3]?.();
  await moment();
  expect(order).toEqual([0, 1, 3, 6, 4]);
  releases[0]?.();
  await moment();
  expect(order).toEqual([0, 1, 3, 6, 4, 2]);
  releases[6]?.();
  await moment();
  expect(order).toEqual([0, 1, 3, 6, 4, 2, 7]);
  releases[4]?.();
  await moment();
  expect(order).toEqual([0, 1, 3, 6, 4, 2, 7, 5]);
  for (const release of releases) release();
  expect(slots.isIdle).toBe(true);
});

it('forgets requests that were aborted', async () => {
  const slots = pageSlots({ organization: 1, all: 1 });
  const release = await slots.take({ run: 1, organization: 1, atOnce: 1 });
  const abort = new AbortController();
  const waiting = slots.take({ run: 1, organization: 1, atOnce: 1 }, abort.signal);
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(slots.take({ run: 1, organization: 1, atOnce: 1 }, abort.signal)).rejects.toThrow('enough');
  release();
  expect(slots.isIdle).toBe(true);
  await slots.take({ run: 2, organization: 1, atOnce: 1 });
});
