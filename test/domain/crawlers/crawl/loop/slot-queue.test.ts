import { expect, it } from 'vitest';
import { type QueuedUrl, SlotQueue } from '../../../../../src/domain/crawlers/crawl/loop/requests.ts';
import { priorities } from '../../../../../src/domain/crawlers/frontier/url-draft.ts';

/** A leased page of a host, with its slot. */
function waiting(id: number, start: number, gap: number): QueuedUrl {
  const found = { is_entry: false, follows: true, depth: 0, priority: priorities.page, hop: 0, level: 0, attempts: 0 };
  const of = { id, place: '(0,1)', url: `http://h/${id}`, host: 'h', kind: 'page' as const, ...found };
  return { of, start, gap, base: undefined };
}

/** What a queue says at each of these times, short. */
const said = (queue: SlotQueue, times: readonly number[]) =>
  times.map((now) => {
    const next = queue.next(now);
    return next.kind === 'wait' ? next.for : `${next.kind} ${next.waiting.of.id}`;
  });

it('has connections opened a second before the slot, once each', () => {
  const queue = new SlotQueue(() => 2);
  queue.add([waiting(1, 10_000, 4_010), waiting(2, 14_010, 4_010)]);
  expect(said(queue, [5_000, 9_000, 9_000, 9_999, 10_001])).toEqual([4_000, 'connect 1', 1_000, 1, 'fetch 1']);
  expect(said(queue, [10_001, 13_010, 13_010, 14_010])).toEqual([3_009, 'connect 2', 1_000, 'fetch 2']);
});

it('has them opened half-way between slots that follow one another sooner', () => {
  const queue = new SlotQueue(() => 2);
  queue.add([waiting(1, 1_000, 100), waiting(2, 1_100, 100)]);
  expect(said(queue, [900, 950, 950, 1_000])).toEqual([50, 'connect 1', 50, 'fetch 1']);
  expect(said(queue, [1_000, 1_050, 1_050, 1_100])).toEqual([50, 'connect 2', 50, 'fetch 2']);
});

it('has none opened for a host that allows no more requests at once, nor without slots', () => {
  const queue = new SlotQueue(() => 1);
  queue.add([waiting(1, 0, 0), waiting(2, 5_000, 4_010)]);
  expect(said(queue, [4_500, 4_500])).toEqual(['fetch 1', 500]);
  queue.leave('h');
  expect(said(queue, [4_500])).toEqual(['connect 2']);
});

it('gives up slots that are past', () => {
  const queue = new SlotQueue(() => 2);
  queue.add([waiting(1, 1_000, 100), waiting(2, 1_100, 100)]);
  expect(said(queue, [1_112, 1_112])).toEqual(['late 1', 'fetch 2']);
});
