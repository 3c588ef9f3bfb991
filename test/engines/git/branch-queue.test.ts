import { setTimeout as delay, setImmediate as nextIteration } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BranchQueues } from '../../../src/engines/git/commits/branch-queue.ts';
import { workFor } from '../../../src/lib/concurrency.ts';

/** Queues whose writers are functions to call when their round has ended, and the sizes of the rounds so far. */
function queuesOf(milliseconds: number) {
  const rounds: number[] = [];
  const queues = new BranchQueues<() => void>(async (_branch, writers) => {
    rounds.push(writers.length);
    await delay(milliseconds);
    for (const settle of writers) settle();
    return [];
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

describe('callers of one branch', () => {
  /** Adds writers of callers while the branch is held. @returns the rounds they had, and what was left of them */
  async function roundsOf(writers: readonly string[], takes: number) {
    const rounds: string[][] = [];
    const queues = new BranchQueues<string>(async (_, writers) => {
      rounds.push(writers.slice(0, takes));
      return writers.slice(takes);
    });
    const release = await queues.hold(['main']);
    for (const writer of writers) workFor(writer[0] ?? '', () => queues.add('main', writer));
    release();
    await queues.settled();
    return rounds;
  }

  it('alternate, each with its writers in order: hundreds of one keep no other waiting', async () => {
    const many = Array.from({ length: 200 }, (_, at) => `a${at}`);
    const rounds = await roundsOf([...many, 'b0', 'b1', 'c0'], 1_000);
    expect(rounds[0]?.slice(0, 7)).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3']);
    expect(rounds.flat().filter((writer) => writer.startsWith('a'))).toEqual(many);
    expect(rounds.flat()).toHaveLength(203);
  });

  it('come back to what a round has left, also where one behind it was refused', async () => {
    const rounds: string[][] = [];
    const queues = new BranchQueues<string>(async (_, writers) => {
      rounds.push([...writers]);
      return rounds.length === 1 ? writers.slice(1, 2) : [];
    });
    const release = await queues.hold(['main']);
    for (const writer of ['settled', 'left', 'refused']) queues.add('main', writer);
    release();
    await queues.settled();
    expect(rounds).toEqual([['settled', 'left', 'refused'], ['left']]);
  });

  it('keep the order of what a round has left, so that it is the turn of all after as many rounds as there are callers', async () => {
    const writers = ['a0', 'a1', 'a2', 'b0', 'b1', 'c0'];
    expect((await roundsOf(writers, 1)).flat()).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2']);
    expect(await roundsOf(writers, 2)).toEqual([
      ['a0', 'b0'],
      ['c0', 'a1'],
      ['b1', 'a2'],
    ]);
  });
});
