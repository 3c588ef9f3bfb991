import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { GitProcesses } from '../../../src/engines/git/git-process.ts';
import { Slots } from '../../../src/engines/git/slots.ts';
import { type Holder, StandingHolders } from '../../../src/engines/git/standing.ts';
import { temporaryDirectory } from '../../support/git-store.ts';

describe('slots', () => {
  it('run so many at once, keep the others in order and refuse beyond', async () => {
    const slots = new Slots(2, { waiting: 2 });
    const order: number[] = [];
    const ends: (() => void)[] = [];
    const jobs = [0, 1, 2, 3].map((at) =>
      slots.run(async () => {
        order.push(at);
        await new Promise<void>((resolve) => ends.push(resolve));
        return at;
      }),
    );
    await expect(slots.run(async () => 4)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(order).toEqual([0, 1]);
    for (let at = 0; at < 4; at += 1) {
      ends[at]?.();
      expect(await jobs[at]).toBe(at);
      await new Promise(setImmediate);
    }
    expect(order).toEqual([0, 1, 2, 3]);
    expect(await slots.run(async () => 5)).toBe(5);
  });

  it('let a waiting one go when it is aborted', async () => {
    const slots = new Slots(1);
    let end = () => {};
    const first = slots.run(() => new Promise<void>((resolve) => (end = resolve)));
    const stop = new AbortController();
    const second = slots.run(async () => 'never', stop.signal);
    const third = slots.run(async () => 'third');
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    await expect(slots.run(async () => 'never', stop.signal)).rejects.toThrow('enough');
    end();
    await first;
    expect(await third).toBe('third');
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

describe('slots with an end of patience', () => {
  it('refuse who has waited that long, and give the slot to the next', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const slots = new Slots(1, { patience: 1_000 });
    const release = await slots.take();
    const late = slots.take();
    const refused = expect(late).rejects.toMatchObject({ code: 'unavailable' });
    await vi.advanceTimersByTimeAsync(999);
    const next = slots.take();
    await vi.advanceTimersByTimeAsync(1);
    await refused;
    release();
    release();
    const releaseNext = await next;
    const third = slots.take();
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
