import { describe, expect, it } from 'vitest';
import {
  filterYielding,
  findYielding,
  forEachYielding,
  mapYielding,
  setYielding,
  sortYielding,
  workFor,
  yieldLoop,
} from '../../src/lib/concurrency.ts';
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

const busy = (milliseconds: number) => {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
};

it('resumes what has yielded in turns of the callers for whom it is done', async () => {
  const order: string[] = [];
  const work = (caller: string) => workFor(caller, () => yieldLoop().then(() => void order.push(caller)));
  await Promise.all([...Array.from({ length: 20 }, () => work('busy')), work('other'), work('other')]);
  expect(order.lastIndexOf('other')).toBe(3);
  expect(order).toHaveLength(22);
});

it('gives way between works that go on together, though each of them alone is short', async () => {
  const steps = iterationsDuring(async () => {
    const answer = Promise.resolve();
    await Promise.all(
      Array.from({ length: 50 }, () => answer.then(() => forEachYielding(Array.from({ length: 10 }), () => {}))),
    );
  });
  expect(await steps).toBeGreaterThan(20);
});

it('gives works that go on side by side as much time each', async () => {
  for (const works of [2, 3, 4]) {
    const done = Array.from({ length: works }, () => 0);
    let isOver = false;
    function* steps(at: number) {
      for (; !isOver; isOver ||= (done[at] ?? 0) > 2_000) yield at;
    }
    const work = (_: unknown, at: number) =>
      workFor(`caller ${at}`, () => forEachYielding(steps(at), () => (done[at] = (done[at] ?? 0) + 1)));
    await iterationsDuring(() => Promise.all(done.map(work)));
    expect(Math.min(...done)).toBeGreaterThan(1_800);
  }
});

it('handles every item in order, and yields to other work while that takes long', async () => {
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
