import { expect, it } from 'vitest';
import { SharedRuns } from '../../src/lib/concurrency.ts';

const gated = () => {
  const gates: { resolve(): void; reject(error: Error): void }[] = [];
  const work = async () => {
    const begun = gates.length + 1;
    await new Promise<void>((resolve, reject) => gates.push({ resolve, reject }));
    return begun;
  };
  return { gates, work };
};

it('gives calls that come during a run the result of the next one, which begins after them', async () => {
  const { gates, work } = gated();
  const runs = new SharedRuns<number>();
  const first = runs.run('a', work);
  const others = [1, 2, 3].map(() => runs.run('a', work));
  expect(gates).toHaveLength(1);
  gates[0]?.resolve();
  expect(await first).toBe(1);
  await expect.poll(() => gates.length).toBe(2);
  const late = runs.run('a', work);
  gates[1]?.resolve();
  expect(await Promise.all(others)).toEqual([2, 2, 2]);
  await expect.poll(() => gates.length).toBe(3);
  gates[2]?.resolve();
  expect(await late).toBe(3);
});

it('begins anew after a run that fails, and fails for those alone who wait for it', async () => {
  const { gates, work } = gated();
  const runs = new SharedRuns<number>();
  const first = runs.run('a', work);
  const second = runs.run('a', work);
  gates[0]?.reject(new Error('unreadable'));
  await expect(first).rejects.toThrow('unreadable');
  await expect.poll(() => gates.length).toBe(2);
  gates[1]?.resolve();
  expect(await second).toBe(2);
  const third = runs.run('a', work);
  expect(gates).toHaveLength(3);
  gates[2]?.resolve();
  expect(await third).toBe(3);
});

it('keeps keys apart', async () => {
  const { gates, work } = gated();
  const runs = new SharedRuns<number>();
  const both = [runs.run('a', work), runs.run('b', work)];
  expect(gates).toHaveLength(2);
  for (const gate of gates) gate.resolve();
  expect(await Promise.all(both)).toEqual([1, 2]);
});
