import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds all else may have to wait. */
const longestHold = 20;

/**
 * Does something with one item after the other, and lets all else have its turn now and then: thousands of links, decided by thousands of
 * patterns, take seconds, and a long text has hundreds of thousands of tokens.
 */
export async function inTurns<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  let began = performance.now();
  for (const item of items) {
    work(item);
    if (performance.now() - began < longestHold) continue;
    await nextTurn();
    began = performance.now();
  }
}
