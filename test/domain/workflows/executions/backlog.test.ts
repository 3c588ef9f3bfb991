import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Backlog } from '../../../../src/domain/workflows/executions/backlog.ts';

let now: number;
let answers: ((pending: number) => void)[];
let backlog: Backlog;

beforeEach(() => {
  now = 1_000_000;
  answers = [];
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const execute = () =>
    new Promise((resolve) => {
      answers.push((pending) => resolve([{ pending }]));
    });
  backlog = new Backlog({ em: { fork: () => ({ execute }) } } as unknown as ConstructorParameters<typeof Backlog>[0]);
});
afterEach(() => vi.restoreAllMocks());

/** Begins with a count of so many. */
async function counted(pending: number, limit = 10): Promise<void> {
  const first = backlog.isFull(1, limit);
  answers.pop()?.(pending);
  await first;
}

it('is counted once for all that ask at the same time, and not again within a second', async () => {
  const requested = [backlog.isFull(1, 10), backlog.isFull(1, 10)];
  expect(answers).toHaveLength(1);
  answers[0]?.(10);
  expect(await Promise.all(requested)).toEqual([true, true]);
  now += 1_000;
  expect(await backlog.isFull(1, 10)).toBe(true);
  expect(answers).toHaveLength(1);
});

it('counts what was accepted since', async () => {
  await counted(8);
  expect(await backlog.isFull(1, 10)).toBe(false);
  backlog.add(1);
  backlog.add(1);
  expect(await backlog.isFull(1, 10)).toBe(true);
});

it('makes no caller wait for a new count that has room by the old one', async () => {
  await counted(3);
  now += 1_001;
  expect(await backlog.isFull(1, 10)).toBe(false);
  expect(await backlog.isFull(1, 10)).toBe(false);
  expect(answers).toHaveLength(1);
  // Begun while it is counted: the new count may not hold it.
  backlog.add(1);
  answers.pop()?.(9);
  await vi.waitFor(async () => expect(await backlog.isFull(1, 10)).toBe(true), 30_000);
});

it('refuses no caller by an old count', async () => {
  await counted(10);
  now += 1_001;
  const requested = backlog.isFull(1, 10);
  answers.pop()?.(9);
  expect(await requested).toBe(false);
});

it('goes by no count that is very old', async () => {
  await counted(3);
  now += 10_001;
  const requested = backlog.isFull(1, 10);
  answers.pop()?.(10);
  expect(await requested).toBe(true);
});

it('fails the callers that wait for a count that fails, and counts again for the next', async () => {
  const broken = new Error('away');
  const execute = vi
    .fn()
    .mockRejectedValueOnce(broken)
    .mockResolvedValue([{ pending: 0 }]);
  const other = new Backlog({ em: { fork: () => ({ execute }) } } as unknown as ConstructorParameters<
    typeof Backlog
  >[0]);
  await expect(other.isFull(1, 10)).rejects.toBe(broken);
  expect(await other.isFull(1, 10)).toBe(false);
});

it.each([
  [0, 5_000],
  [60_000, 4_000],
  [80_000, 2_000],
  [95_000, 1_000],
])('with %i of 100,000 is counted again after %i milliseconds', async (pending, age) => {
  await counted(pending, 100_000);
  now += age;
  expect(await backlog.isFull(1, 100_000)).toBe(false);
  expect(answers).toHaveLength(0);
  now += 1;
  expect(await backlog.isFull(1, 100_000)).toBe(false);
  expect(answers).toHaveLength(1);
});

it('is counted again sooner when this process has taken the room', async () => {
  await counted(0, 20_000);
  now += 1_500;
  expect(await backlog.isFull(1, 20_000)).toBe(false);
  expect(answers).toHaveLength(0);
  for (let accepted = 0; accepted < 10_000; accepted += 1) backlog.add(1);
  expect(await backlog.isFull(1, 20_000)).toBe(false);
  expect(answers).toHaveLength(1);
});
