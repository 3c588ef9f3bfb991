import { expect, test } from 'vitest';
import { patternProblem, patternsOf } from '../../scripts/check-patterns.ts';

test.each([
  ['/[?#].*$/', '/[?#].*/s'],
  [String.raw`/\n+$/`, String.raw`/(?<!\n)\n+$/`],
  [String.raw`/\{\{\s*([^{}]*?)\s*\}\}/g`, String.raw`/\{\{([^{}]*?)\}\}/g`],
  [String.raw`/^(\w+)\s*:?\s*$/`, String.raw`/^(\w+)\s*(?::\s*)?$/`],
])('refuses %s, which takes more than linear time, and lets %s pass', (slow, fast) => {
  const [one, other] = patternsOf(`export const all = [\n  ${slow}, ${fast}];`);
  expect(one).toMatchObject({ line: 2 });
  expect(one && patternProblem(one)).not.toBeNull();
  expect(other && patternProblem(other)).toBeNull();
});
