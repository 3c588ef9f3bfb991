import { expect, it } from 'vitest';
import { OutcomeBuffer } from '../../../../../src/domain/crawlers/crawl/loop/outcome-buffer.ts';
import type { LeasedUrl } from '../../../../../src/domain/crawlers/frontier/lease.ts';
import { type Outcome, outcomeOf } from '../../../../../src/domain/crawlers/frontier/outcome.ts';

const outcome = (id: number) => outcomeOf({ id } as LeasedUrl, { state: 'done' });

/** Outcomes from a number on need something to be kept for them. */
function unwrittenFrom(needing: number) {
  const kept: number[] = [];
  const needs = ({ of }: Outcome) => of.id >= needing;
  const keep = async (outcomes: readonly Outcome[]) => void kept.push(...outcomes.filter(needs).map(({ of }) => of.id));
  return { unwritten: new OutcomeBuffer({ needs, keep }), kept };
}

const add = (unwritten: OutcomeBuffer, count: number) => {
  for (let id = 0; id < count; id += 1) unwritten.add(outcome(id));
};

it('goes together, up to a hundred, when it needs nothing beside its rows', () => {
  const { unwritten } = unwrittenFrom(Number.POSITIVE_INFINITY);
  add(unwritten, 119);
  expect(unwritten.take().outcomes.map(({ of }) => of.id)).toEqual(Array.from({ length: 100 }, (_, id) => id));
  expect([unwritten.size, unwritten.isFull]).toEqual([19, false]);
  expect(unwritten.take().outcomes).toHaveLength(19);
  expect(unwritten.size).toBe(0);
});

it('goes in batches for which all is kept by then', () => {
  const { unwritten, kept } = unwrittenFrom(0);
  add(unwritten, 110);
  expect(kept).toHaveLength(40);
  expect(unwritten.take().outcomes).toHaveLength(40);
  expect([unwritten.size, unwritten.isFull, kept.length]).toEqual([70, true, 110]);
  expect(unwritten.take().outcomes).toHaveLength(70);
});

it('waits for more where only the last ones need something', () => {
  const { unwritten, kept } = unwrittenFrom(50);
  add(unwritten, 60);
  expect(unwritten.take().outcomes).toHaveLength(40);
  expect([unwritten.size, unwritten.isFull, kept.length]).toEqual([20, false, 0]);
  expect(unwritten.take().outcomes).toHaveLength(20);
  expect(kept).toEqual(Array.from({ length: 10 }, (_, index) => 50 + index));
});
