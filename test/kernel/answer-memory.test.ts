import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AnswerMemory } from '../../src/kernel/answer-memory.ts';

const mebibyte = 1024 * 1024;

/** A response that its client reads, or gives up, when it is closed. */
class Response extends EventEmitter {
  closed = false;
  writableEnded = true;
  writableNeedDrain = false;
  timeLimit: number | undefined;
  close(): void {
    this.closed = true;
    this.emit('close');
  }
  setTimeout(milliseconds: number): void {
    this.timeLimit = milliseconds;
  }
  destroy(): void {
    this.close();
  }
}
const turns = () => new Promise(setImmediate);

function memory() {
  const answers = new AnswerMemory({ all: 8 * mebibyte });
  const begun: string[] = [];
  const request = (caller: string, size: number) => {
    const response = new Response();
    const taken = answers.take(caller, size * mebibyte, response).then(() => void begun.push(caller));
    const more = (size: number) =>
      answers.take(caller, size * mebibyte, response).then(() => void begun.push(`more of ${caller}`));
    return { response, taken, more };
  };
  return { answers, begun, request };
}

describe('large answers', () => {
  it('of one caller take half of the memory; further ones wait until some are read, and others wait for none', async () => {
    const { begun, request } = memory();
    const busy = Array.from({ length: 6 }, () => request('busy', 2));
    const other = request('other', 2);
    await turns();
    expect(begun).toEqual(['busy', 'busy', 'other']);
    busy[0]?.response.close();
    await turns();
    expect(begun).toEqual(['busy', 'busy', 'other', 'busy']);
    for (const { response } of [...busy, other]) response.close();
    await Promise.allSettled(busy.map(({ taken }) => taken));
  });

  it('that are larger than a share take all of it', async () => {
    const { begun, request } = memory();
    const whole = request('a', 100);
    const next = request('a', 1);
    await turns();
    expect(begun).toEqual(['a']);
    whole.response.close();
    await next.taken;
    next.response.close();
  });

  it('are let in, the longest waiting first, when all of the memory was taken', async () => {
    const { begun, request } = memory();
    const [a, b] = [request('a', 4), request('b', 4)];
    const c = request('c', 3);
    const d = request('d', 1);
    a.response.close();
    await Promise.all([c.taken, d.taken]);
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    for (const { response } of [b, c, d]) response.close();
  });

  it('alternate between callers when all of the memory was taken', async () => {
    const { begun, request } = memory();
    const held = [request('a', 4), request('b', 4)];
    const waiting = [...Array.from({ length: 3 }, () => ['a', 'b']).flat(), 'other'].map((caller) =>
      request(caller, 4),
    );
    await turns();
    for (const { response } of [...held, ...waiting]) {
      response.close();
      await turns();
    }
    expect(begun.indexOf('other')).toBeLessThan(5);
    expect(begun).toHaveLength(9);
    await Promise.all(waiting.map(({ taken }) => taken));
  });

  it('give up their place when the client goes, and leave nothing taken', async () => {
    const { request } = memory();
    const first = request('a', 4);
    const gone = request('a', 1);
    const next = request('a', 4);
    gone.response.close();
    await expect(gone.taken).rejects.toMatchObject({ code: 'unavailable' });
    first.response.close();
    await next.taken;
    next.response.close();
    const whole = request('a', 4);
    await whole.taken;
    whole.response.close();
  });

  it('are refused when there is no room for long', async () => {
    vi.useFakeTimers();
    const { request } = memory();
    const first = request('a', 4);
    const late = request('a', 1);
    const refused = expect(late.taken).rejects.toMatchObject({ code: 'unavailable' });
    await vi.advanceTimersByTimeAsync(30_000);
    await refused;
    vi.useRealTimers();
    first.response.close();
  });

  describe('that are unread for five seconds while another caller waits', () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it('are ended as far as their caller holds more than all have alike', async () => {
      const { begun, request } = memory();
      const slow = [2, 2].flatMap((size) => ['a', 'b'].map((caller) => request(caller, size)));
      const other = request('other', 1);
      await vi.advanceTimersByTimeAsync(4_999);
      expect(begun).toEqual(['a', 'b', 'a', 'b']);
      await vi.advanceTimersByTimeAsync(1);
      expect(begun.at(-1)).toBe('other');
      expect(slow.map(({ response }) => response.closed)).toEqual([true, false, false, false]);
      // `b` holds more than a third; `other`, with what it has, would do so as well.
      const more = request('other', 2);
      const refused = expect(more.taken).rejects.toMatchObject({ code: 'unavailable' });
      await vi.advanceTimersByTimeAsync(30_000);
      await refused;
      expect(slow.map(({ response }) => response.closed)).toEqual([true, false, false, false]);
      for (const { response } of [...slow, other]) response.close();
    });

    it('stay when they are still being made, or were read on', async () => {
      const { request } = memory();
      const [made, read, unread] = ['a', 'b', 'b'].map((caller, at) => request(caller, at === 0 ? 4 : 2));
      if (!made || !read || !unread) throw new Error('Three were requested');
      made.response.writableEnded = false;
      read.response.writableEnded = false;
      read.response.writableNeedDrain = true;
      const other = request('other', 1);
      read.response.writableNeedDrain = false;
      await vi.advanceTimersByTimeAsync(5_000);
      await other.taken;
      expect([made, read, unread].map(({ response }) => response.closed)).toEqual([false, false, true]);
      for (const { response } of [made, read, other]) response.close();
    });

    it('stay for another answer of their own caller', async () => {
      const { request } = memory();
      const first = request('a', 4);
      const next = request('a', 1);
      const refused = expect(next.taken).rejects.toMatchObject({ code: 'unavailable' });
      await vi.advanceTimersByTimeAsync(30_000);
      await refused;
      expect(first.response.closed).toBe(false);
      first.response.close();
    });
  });

  describe('of commands', () => {
    const keep = (answers: AnswerMemory, caller: string, size: number) => {
      const response = new Response();
      answers.addOfCommand(caller, size * mebibyte, response);
      return response;
    };

    it('are sent in any case, and end unread ones of their caller beyond its share, the oldest first', async () => {
      const { answers, request } = memory();
      const other = request('b', 4);
      await other.taken;
      const kept = Array.from({ length: 6 }, () => keep(answers, 'a', 1));
      expect(kept.map(({ closed }) => closed)).toEqual([true, true, false, false, false, false]);
      expect([other.response.closed, kept.at(-1)?.timeLimit]).toEqual([false, 60_000]);
      // Nothing is left taken of those that were ended.
      for (const response of kept) response.close();
      const whole = request('a', 4);
      await whole.taken;
      for (const { response } of [other, whole]) response.close();
    });

    it('end unread ones of the caller that holds most where all is taken', async () => {
      const { answers, request } = memory();
      const [large, making, little] = [request('b', 4), request('c', 3), request('d', 1)];
      making.response.writableEnded = false;
      await Promise.all([large, making, little].map(({ taken }) => taken));
      const kept = keep(answers, 'a', 1);
      expect([large, making, little].map(({ response }) => response.closed)).toEqual([true, false, false]);
      for (const response of [kept, making.response, little.response]) response.close();
    });

    it('that are small count for nothing', () => {
      const { answers } = memory();
      const response = new Response();
      answers.addOfCommand('a', 256 * 1024, response);
      expect(response.timeLimit).toBeUndefined();
      answers.addOfCommand('a', 256 * 1024 + 1, response);
      answers.addOfCommand('a', 2 * 256 * 1024, response);
      expect(response.listenerCount('close')).toBe(1);
      response.close();
    });
  });

  it('do not wait for room when their clients have gone', async () => {
    const { answers, request } = memory();
    const first = request('a', 4);
    await first.taken;
    const gone = new Response();
    gone.close();
    await expect(answers.take('a', mebibyte, gone)).rejects.toMatchObject({ code: 'unavailable' });
    first.response.close();
  });

  it('are ended when their clients read nothing for a minute', async () => {
    const { request } = memory();
    const { response, taken } = request('a', 1);
    await taken;
    expect(response.timeLimit).toBe(60_000);
    response.close();
  });

  it('take more room as more is read, are counted once when they are made, and give all of it back', async () => {
    const { answers } = memory();
    const response = new Response();
    await answers.take('a', mebibyte, response);
    await answers.take('a', 2 * mebibyte, response);
    expect(response.listenerCount('close')).toBe(1);
    answers.add('a', 4 * mebibyte, response);
    expect(() => answers.add('a', mebibyte, new Response())).toThrow(/being sent/);
    response.close();
    const whole = new Response();
    answers.add('a', 4 * mebibyte, whole);
    whole.close();
  });

  it('that become more than the share of a caller are refused, and wait for none of their own room', async () => {
    const { request } = memory();
    const { response, taken, more } = request('a', 3);
    await taken;
    await more(1);
    await expect(more(1)).rejects.toMatchObject({ code: 'too_large' });
    response.close();
  });

  it('that are in memory are refused when they are larger than the share of a caller', () => {
    const { answers } = memory();
    const response = new Response();
    const add = () => answers.add('a', 4 * mebibyte + 1, response);
    expect(add).toThrow(expect.objectContaining({ code: 'too_large', message: expect.stringMatching(/request less/) }));
    answers.add('a', 4 * mebibyte, response);
    response.close();
  });

  it('that are in memory already are dropped where there is no room', () => {
    const { answers } = memory();
    const response = new Response();
    answers.add('a', 4 * mebibyte, response);
    expect(() => answers.add('a', mebibyte, new Response())).toThrow(/being sent/);
    answers.add('a', 1_000, new Response());
    response.close();
    const again = new Response();
    answers.add('a', mebibyte, again);
    again.close();
  });
});
