import { describe, expect, it, vi } from 'vitest';
import { SharedCommits } from '../../src/kernel/shared-commits.ts';

const isDefinite = (error: unknown) => (error as Error).message !== 'lost';
const late = () => new Error('late');

/** Commits that end when the test says so. */
function heldCommits() {
  const groups: { calls: readonly number[]; done: (error?: Error) => void }[] = [];
  const commits = new SharedCommits<number, string>(
    (calls) =>
      new Promise((resolve, reject) => {
        const done = (error?: Error) => (error ? reject(error) : resolve(calls.map((call) => `did ${call}`)));
        groups.push({ calls, done });
      }),
    { isDefinite, late, patience: 60_000 },
  );
  return { commits, groups };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('shared commits', () => {
  it('begin when the turn is over, and those that come meanwhile share the next', async () => {
    const { commits, groups } = heldCommits();
    const begun = () => groups.map(({ calls }) => calls);
    const results = [1, 2].map((call) => commits.add(call));
    expect(begun()).toEqual([]);
    await vi.waitFor(() => expect(begun()).toEqual([[1, 2]]), 30_000);
    results.push(...[3, 4].map((call) => commits.add(call)));
    await turn();
    expect(begun()).toHaveLength(1);
    groups[0]?.done();
    await vi.waitFor(
      () =>
        expect(begun()).toEqual([
          [1, 2],
          [3, 4],
        ]),
      30_000,
    );
    groups[1]?.done();
    expect(await Promise.all(results)).toEqual(['did 1', 'did 2', 'did 3', 'did 4']);
  });

  it('a second begins beside the first when many wait, and a third does not', async () => {
    const { commits, groups } = heldCommits();
    const numbers = Array.from({ length: 40 }, (_, number) => number);
    const results = [commits.add(0)];
    await vi.waitFor(() => expect(groups).toHaveLength(1), 30_000);
    results.push(...numbers.slice(1, 20).map((call) => commits.add(call)));
    await vi.waitFor(() => expect(groups.map(({ calls }) => calls.length)).toEqual([1, 19]), 30_000);
    results.push(...numbers.slice(20).map((call) => commits.add(call)));
    await turn();
    await turn();
    expect(groups).toHaveLength(2);
    groups[1]?.done();
    await vi.waitFor(() => expect(groups.map(({ calls }) => calls.length)).toEqual([1, 19, 20]), 30_000);
    groups[2]?.done();
    groups[0]?.done();
    expect(await Promise.all(results)).toEqual(numbers.map((number) => `did ${number}`));
  });

  it('are tried one by one after a failure, so that only the call at fault fails', async () => {
    const commits = new SharedCommits<number, number>(
      async (calls) => {
        await turn();
        if (calls.includes(3)) throw new Error('bad');
        return [...calls];
      },
      { isDefinite, late },
    );
    const found = await Promise.allSettled([1, 2, 3, 4].map((call) => commits.add(call)));
    expect(found.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  });

  it('whose outcome is unknown are not tried again', async () => {
    const { commits, groups } = heldCommits();
    const first = commits.add(1);
    await vi.waitFor(() => expect(groups).toHaveLength(1), 30_000);
    const settled = Promise.allSettled([first, commits.add(2), commits.add(3)]);
    groups[0]?.done();
    await vi.waitFor(() => expect(groups).toHaveLength(2), 30_000);
    groups[1]?.done(new Error('lost'));
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(groups).toHaveLength(2);
  });

  it('that are held up do not hold up others for long', async () => {
    const ends: (() => void)[] = [];
    const commits = new SharedCommits<number, number>(
      async (calls) => {
        if (calls.includes(1)) await new Promise<void>((resolve) => ends.push(resolve));
        return [...calls];
      },
      { isDefinite, late, patience: 1 },
    );
    const first = commits.add(1);
    await vi.waitFor(() => expect(ends).toHaveLength(1), 30_000);
    expect(await commits.add(2)).toBe(2);
    ends[0]?.();
    expect(await first).toBe(1);
  });

  it('that take too long are given up, and what still waits for its turn is not stored any more', async () => {
    const ends: (() => void)[] = [];
    const stored: number[] = [];
    const commits = new SharedCommits<number, number>(
      async (calls) => {
        stored.push(...calls);
        await new Promise<void>((resolve) => ends.push(resolve));
        return [...calls];
      },
      { isDefinite, late, patience: 1, limit: 20, lanes: 1 },
    );
    const first = Promise.allSettled([commits.add(1)]);
    await vi.waitFor(() => expect(ends).toHaveLength(1), 30_000);
    const others = Promise.allSettled([commits.add(2), commits.add(3)]);
    const settled = [...(await first), ...(await others)];
    expect(settled.map((one) => one.status === 'rejected' && one.reason.message)).toEqual(['late', 'late', 'late']);
    const next = Promise.allSettled([commits.add(4)]);
    ends[0]?.();
    await vi.waitFor(() => expect(ends).toHaveLength(2), 60_000);
    ends[1]?.();
    await next;
    expect(stored).toEqual([1, 4]);
  });
});
