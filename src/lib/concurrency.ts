import { setImmediate } from 'node:timers/promises';

/**
 * Works on items as they come, a few at the same time. The first failure ends it, once everything that had begun is over: a caller that catches it
 * may clear away what was worked on.
 * @param together how many at most
 */
export async function forEachConcurrently<T>(
  items: Iterable<T> | AsyncIterable<T>,
  together: number,
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let index = 0;
  // A race of all that run would cost as much for each item as there are of them.
  let onEnd = () => {};
  try {
    for await (const item of items) {
      const one = work(item, index++)
        .catch((error: unknown) => void failures.push(error))
        .then(() => {
          running.delete(one);
          onEnd();
        });
      running.add(one);
      if (running.size >= together) await new Promise<void>((resolve) => (onEnd = resolve));
      if (failures.length > 0) break;
    }
  } finally {
    await Promise.all(running);
  }
  if (failures.length > 0) throw failures[0];
}

/** Settled once all that has yielded so far has been resumed. */
let resumed: Promise<void> = Promise.resolve();

/**
 * Gives way to everything that waits for the event loop. What yields at the same time is resumed one after the other, each in an iteration of the
 * loop of its own: the pieces of long work that many requests do side by side do not add up to one that holds all else up.
 */
export function yieldLoop(): Promise<void> {
  const mine = resumed.then(() => setImmediate());
  resumed = mine;
  return mine;
}

/** Milliseconds all else may have to wait. */
const longestHold = 20;

/** Keeps long work in short holds of the event loop: `if (pace.isDue) await pace.yield()` between its steps. */
export class Pace {
  #began = performance.now();

  /** Whether all else has waited for as long as it may. */
  get isDue(): boolean {
    return performance.now() - this.#began >= longestHold;
  }

  async yield(): Promise<void> {
    await yieldLoop();
    this.#began = performance.now();
  }
}

/**
 * Does something with one item after the other, and lets all else have its turn now and then: thousands of links, decided by thousands of
 * patterns, take seconds, and a long text has hundreds of thousands of tokens.
 */
export async function forEachYielding<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const pace = new Pace();
  for (const item of items) {
    work(item);
    if (pace.isDue) await pace.yield();
  }
}

/** Goes through the steps of long work, and lets all else have its turn between them. @returns what the work comes to */
export async function finishYielding<T>(steps: Generator<undefined, T, undefined>): Promise<T> {
  const pace = new Pace();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (pace.isDue) await pace.yield();
  }
}

/**
 * Waits for all of several promises, whatever becomes of some: a transaction must not end while statements of it are under way.
 * @throws what the first of them throws
 */
export async function settleAll<const Work extends readonly unknown[]>(work: Work) {
  await Promise.allSettled(work);
  return Promise.all(work);
}
