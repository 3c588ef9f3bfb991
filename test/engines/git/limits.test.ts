import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { GitProcesses } from '../../../src/engines/git/git-process.ts';
import { Lane, Slots } from '../../../src/engines/git/slots.ts';
import { type Holder, StandingHolders } from '../../../src/engines/git/standing.ts';
import { workFor } from '../../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../../support/git-store.ts';
import fc from '../../support/properties.ts';

describe('slots', () => {
  it('run so many at once, keep the others in order and refuse beyond', async () => {
    const slots = new Slots(2, { waiting: 2 });
    const order: number[] = [];
    const ends: (() => void)[] = [];
    const jobs = [0, 1, 2, 3].map((at) =>
      slots.run('', async () => {
        order.push(at);
        await new Promise<void>((resolve) => ends.push(resolve));
        return at;
      }),
    );
    await expect(slots.run('', async () => 4)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(order).toEqual([0, 1]);
    for (let at = 0; at < 4; at += 1) {
      ends[at]?.();
      expect(await jobs[at]).toBe(at);
      await new Promise(setImmediate);
    }
    expect(order).toEqual([0, 1, 2, 3]);
    expect(await slots.run('', async () => 5)).toBe(5);
  });

  it('let a waiting one go when it is aborted', async () => {
    const slots = new Slots(1);
    let end = () => {};
    const first = slots.run('', () => new Promise<void>((resolve) => (end = resolve)));
    const stop = new AbortController();
    const second = slots.run('', async () => 'never', stop.signal);
    const third = slots.run('', async () => 'third');
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    await expect(slots.run('', async () => 'never', stop.signal)).rejects.toThrow('enough');
    end();
    await first;
    expect(await third).toBe('third');
  });
});

describe('slots with owners', () => {
  /** Jobs that run until they are ended; `running` are the names of those that have begun, in order. */
  function jobs(slots: Slots) {
    const running: string[] = [];
    const ends = new Map<string, () => void>();
    const begin = (name: string, signal?: AbortSignal) =>
      slots.run(
        name.slice(0, 1),
        () => {
          running.push(name);
          return new Promise<void>((resolve) => ends.set(name, resolve));
        },
        signal,
      );
    const end = async (name: string) => {
      ends.get(name)?.();
      await new Promise(setImmediate);
    };
    return { running, begin, end };
  }

  it('keep back for others what is over the share of one', async () => {
    const { running, begin, end } = jobs(new Slots(2, { each: 1 }));
    const all = ['a1', 'a2', 'a3', 'b1'].map((name) => begin(name));
    await new Promise(setImmediate);
    expect(running).toEqual(['a1', 'b1']);
    await end('b1');
    expect(running).toEqual(['a1', 'b1']);
    await end('a1');
    expect(running).toEqual(['a1', 'b1', 'a2']);
    await end('a2');
    await end('a3');
    await Promise.all(all);
  });

  it('go round robin, so that one job of each other owner at most comes before', async () => {
    const { running, begin, end } = jobs(new Slots(1));
    const names = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'];
    const all = names.map((name) => begin(name));
    await new Promise(setImmediate);
    for (let at = 0; at < names.length; at += 1) await end(running[at] ?? '');
    await Promise.all(all);
    expect(running).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  it('refuse the owner whose share is taken, and no other owner, where none may wait', async () => {
    const { begin, end, running } = jobs(new Slots(4, { waiting: 0, each: 2 }));
    const all = [begin('a1'), begin('a2')];
    await expect(begin('a3')).rejects.toMatchObject({ code: 'rate_limited' });
    all.push(begin('b1'));
    await new Promise(setImmediate);
    expect(running).toEqual(['a1', 'a2', 'b1']);
    for (const name of running) await end(name);
    await Promise.all(all);
  });

  it('never hold more than there are, nor more for one owner, nor leave one free that a job may have', async () => {
    const step = fc.oneof(
      fc.record({ begin: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ end: fc.nat(9) }),
      fc.record({ abort: fc.nat(9) }),
    );
    const sizes = fc.record({ size: fc.integer({ min: 1, max: 4 }), each: fc.integer({ min: 1, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(sizes, fc.array(step, { maxLength: 40 }), async ({ size, each }, steps) => {
        const slots = new Slots(size, { each });
        const held: { owner: string; release: () => void }[] = [];
        const waiting = new Set<{ owner: string; stop: AbortController }>();
        const heldBy = (owner: string) => held.filter((one) => one.owner === owner).length;
        for (const one of steps) {
          if ('begin' in one) {
            const waiter = { owner: one.begin, stop: new AbortController() };
            waiting.add(waiter);
            void slots.take(one.begin, waiter.stop.signal).then(
              (release) => held.push({ owner: one.begin, release }) && waiting.delete(waiter),
              () => waiting.delete(waiter),
            );
          } else if ('end' in one) held.splice(one.end, 1)[0]?.release();
          else [...waiting][one.abort]?.stop.abort(new Error('enough'));
          await new Promise(setImmediate);
          expect(held.length).toBeLessThanOrEqual(size);
          for (const owner of 'abc') expect(heldBy(owner)).toBeLessThanOrEqual(each);
          for (const { owner } of waiting) expect(held.length === size || heldBy(owner) === each).toBe(true);
        }
      }),
    );
  });
});

describe('a job that has lent its slot', () => {
  it('no longer waits to have it again once what it serves is gone', async () => {
    const lane = new Lane(1);
    const { signal } = new AbortController();
    const gone = new AbortController();
    await lane.run('a', signal, async (slot) => {
      slot.lend();
      await lane.run('b', signal, async () => {
        const again = slot.regain(gone.signal);
        gone.abort(new Error('gone'));
        await expect(again).rejects.toThrow('gone');
      });
    });
    expect(await lane.run('c', signal, async () => 'free')).toBe('free');
  });
});

describe('git processes', () => {
  it('are 256 at most; another one is refused until one has ended', async () => {
    const home = temporaryDirectory();
    const processes = new GitProcesses(home);
    onTestFinished(() => processes.close());
    const spawn = () => processes.spawn(['hash-object', '--stdin']);
    const children = Array.from({ length: 256 }, spawn);
    const refusal = { code: 'unavailable', message: 'Too many git processes are running; try again shortly' };
    expect(spawn).toThrow(expect.objectContaining(refusal));
    await expect(processes.run(['version'])).rejects.toMatchObject(refusal);
    await expect(processes.start(['version'])).rejects.toMatchObject(refusal);
    children[0]?.streams.stdin.end('');
    expect(await children[0]?.exited).toMatchObject({ code: 0, ended: null });
    expect((await processes.run(['version'])).stdout.toString()).toMatch(/^git version /);
    await processes.close();
    expect(spawn).toThrow(expect.objectContaining({ message: 'The server is stopping' }));
    expect(await children[255]?.exited).toMatchObject({ ended: expect.objectContaining({ code: 'unavailable' }) });
  });
});

describe('the memory of commands and streams together', () => {
  it('is twice that of one, and beyond it the largest of the caller that holds most is ended', async () => {
    const home = temporaryDirectory();
    const processes = new GitProcesses(home, () => {}, 64 * 1024 * 1024);
    onTestFinished(() => processes.close());
    // A git that holds 28 MiB until the others are to end.
    const script = `#!/bin/sh
      held=$(head -c 30000000 /dev/zero | tr '\\0' x)
      until [ -e ${home}/over ]; do sleep 0.05; done`;
    writeFileSync(join(home, 'git'), script, { mode: 0o755 });
    vi.stubEnv('PATH', `${home}:${process.env.PATH}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const start = (caller: string) => workFor(caller, () => processes.start(['hash-object', '--stdin']));
    const other = await start('b');
    const command = workFor('a', () => processes.run(['hash-object', '--stdin'])).catch((error: unknown) => error);
    const streams = [await start('a'), await start('a'), await start('a')].map(
      async ({ exited }) => (await exited).ended,
    );
    const message = 'Comparisons, merges and reads need more memory at once than there is for them; try again shortly';
    expect(await Promise.race([command, ...streams])).toMatchObject({ code: 'unavailable', message });
    writeFileSync(join(home, 'over'), '');
    await Promise.all([command, ...streams]);
    expect(await other.exited).toMatchObject({ code: 0, ended: null });
  });
});

describe('slots with an end of patience', () => {
  it('refuse who has waited that long, and give the slot to the next', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const slots = new Slots(1, { patience: 1_000 });
    const release = await slots.take('');
    const late = slots.take('');
    const refused = expect(late).rejects.toMatchObject({ code: 'unavailable' });
    await vi.advanceTimersByTimeAsync(999);
    const next = slots.take('');
    await vi.advanceTimersByTimeAsync(1);
    await refused;
    release();
    release();
    const releaseNext = await next;
    const third = slots.take('');
    releaseNext();
    expect(await third).toBeTypeOf('function');
  });
});

describe('standing holders', () => {
  it('put the longest awake to sleep, never the busy ones', () => {
    const asleep: string[] = [];
    const holder = (name: string, resting = true): Holder => ({ resting, sleep: () => void asleep.push(name) });
    const standing = new StandingHolders(2);
    const first = holder('first');
    standing.wake(holder('busy', false));
    standing.wake(first);
    standing.wake(first);
    expect(asleep).toEqual([]);
    standing.wake(holder('second'));
    expect(asleep).toEqual(['first']);
    standing.slept(first);
    standing.wake(holder('third'));
    expect(asleep).toEqual(['first', 'second']);
  });
});
