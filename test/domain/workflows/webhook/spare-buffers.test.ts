import { expect, it } from 'vitest';
import { SpareBuffers } from '../../../../src/domain/workflows/webhook/body.ts';

it('gives memory out again, to one at a time, and keeps no more than it should', () => {
  const spare = new SpareBuffers(8, 2);
  const taken = [spare.take(8), spare.take(1), spare.take(0)];
  expect(new Set(taken).size).toBe(3);
  expect(taken.map(({ length }) => length)).toEqual([8, 8, 8]);
  for (const buffer of taken) spare.give(buffer);
  const again = [spare.take(8), spare.take(8), spare.take(8)];
  expect(again.filter((buffer) => taken.includes(buffer))).toHaveLength(2);
  expect(new Set(again).size).toBe(3);
});

it('makes memory for what needs more, and does not keep that', () => {
  const spare = new SpareBuffers(8, 2);
  const large = spare.take(9);
  expect(large).toHaveLength(9);
  spare.give(large);
  expect(spare.take(8)).not.toBe(large);
  expect(spare.take(9)).not.toBe(large);
});
