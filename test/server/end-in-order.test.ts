import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { endInOrder } from '../../src/server/end-in-order.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('names the part a stop waits for, and goes on with the next when it has ended', async () => {
  const said: object[] = [];
  const ended: string[] = [];
  let letGo = () => {};
  const slow = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const ending = endInOrder({ warn: (fields: object) => void said.push(fields) }, [
    ['quick', async () => void ended.push('quick')],
    ['slow', () => slow.then(() => void ended.push('slow'))],
    ['last', async () => void ended.push('last')],
  ]);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(said).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect([said, ended]).toEqual([[{ part: 'slow' }], ['quick']]);
  letGo();
  await ending;
  await vi.advanceTimersByTimeAsync(10_000);
  expect([said.length, ended]).toEqual([1, ['quick', 'slow', 'last']]);
});
