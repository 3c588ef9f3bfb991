import { setTimeout as delay, setImmediate as nextIteration } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BranchQueues } from '../../../src/engines/git/commits/branch-queue.ts';

/** Queues whose writers are functions to call when their round has ended, and the sizes of the rounds so far. */
function queuesOf(milliseconds: number) {
  const rounds: number[] = [];
  const queues = new BranchQueues<() => void>(async (_branch, writers) => {
    rounds.push(writers.length);
    await delay(milliseconds);
    for (const settle of writers) settle();
  });
  const write = (branch = 'main') => new Promise<void>((resolve) => queues.add(branch, resolve));
  return { rounds, queues, write };
}

describe('writers of one branch', () => {
  it('share the next round when they come back after one, however they are spread', async () => {
    const { rounds, write } = queuesOf(40);
    const writer = async (_: unknown, at: number) => {
      for (let round = 0; round < 3; round += 1) {
        await write();
        for (let late = 0; late < at % 4; late += 1) await nextIteration();
      }
    };
    await Promise.all(Array.from({ length: 16 }, writer));
    expect(rounds).toEqual([16, 16, 16]);
  });

  it('do not wait for others that stay away: one is alone after a round of several', async () => {
    const { rounds, write } = queuesOf(8);
    await Promise.all([write(), write()]);
    await write();
    await write();
    expect(rounds).toEqual([2, 1, 1]);
  });

  it('do not wait on other branches', async () => {
    const { rounds, write } = queuesOf(1);
    await Promise.all([write('a'), write('a'), write('b')]);
    expect(rounds.toSorted()).toEqual([1, 2]);
  });

  it('wait while the branch is held, and go on after it', async () => {
    const { rounds, queues, write } = queuesOf(1);
    await Promise.all([write(), write()]);
    const release = await queues.hold(['main']);
    const later = [write(), write()];
    release();
    await Promise.all(later);
    expect(rounds).toEqual([2, 2]);
    await queues.settled();
    expect(queues.busy).toBe(false);
  });
});
