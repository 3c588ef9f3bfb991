import { expect, it } from 'vitest';
import { backOff } from '../../../../../src/domain/crawlers/crawl/fetch/fetch-url.ts';
import { effectiveLimits } from '../../../../../src/domain/crawlers/crawl/open/open-run.ts';

const raised = {
  workers: 20,
  delay: 0,
  max_hits: 7,
  max_html: 900,
  max_errors: 3,
  depth: -1,
  ignore_robots: true,
};
const usual = { max_html: 500 };

it('keeps to what a verified crawler asks for', () => {
  expect(effectiveLimits(raised, usual, { isVerified: true, maxDepth: 1_000 })).toEqual({
    budget: { max_hits: 7, max_html: 900, max_errors: 3, depth: -1 },
    workers: 20,
    delay: 0,
    ignoreRobots: true,
    isClamped: false,
  });
});

it('gives a crawler that is not verified any more what strangers get', () => {
  const options = { isVerified: false, maxDepth: 1_000 };
  expect(effectiveLimits(raised, usual, options)).toEqual({
    budget: { max_hits: 7, max_html: 500, max_errors: 3, depth: -1 },
    workers: 2,
    delay: 4,
    ignoreRobots: false,
    isClamped: true,
  });
  const modest = { ...raised, workers: 2, delay: 4, max_html: 500, ignore_robots: false };
  expect(effectiveLimits(modest, usual, options).isClamped).toBe(false);
  expect(effectiveLimits({ ...modest, max_html: 0 }, usual, options).budget.max_html).toBe(500);
  expect(effectiveLimits({ ...modest, max_html: 10 }, usual, options).budget.max_html).toBe(10);
});

it('goes no deeper than the server lets it', () => {
  const options = { isVerified: true, maxDepth: 5 };
  expect(effectiveLimits({ ...raised, depth: 5 }, usual, options).budget.depth).toBe(5);
  expect(effectiveLimits({ ...raised, depth: 6 }, usual, options).budget.depth).toBe(5);
});

it('waits twice as long before each try, a fifth more or less, and five minutes at most', () => {
  expect([1, 2, 3].map((attempts) => backOff(attempts, 2_000, () => 0.5))).toEqual([2_000, 4_000, 8_000]);
  expect(backOff(1, 2_000, () => 0)).toBe(1_600);
  expect(backOff(1, 2_000, () => 1)).toBe(2_400);
  expect(backOff(20, 2_000, () => 0)).toBe(300_000);
});
