import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import { FairQueue } from './fair-queue.ts';

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

const yielded = new FairQueue<() => void>();
let isResuming = false;

/** Resumes what has yielded, one in each iteration of the loop. */
async function resumeAll(): Promise<void> {
  isResuming = true;
  while (yielded.size > 0) {
    await setImmediate();
    // An iteration of its own: what was resumed before would leave it no time.
    began = undefined;
    yielded.take()?.();
  }
  isResuming = false;
}

/**
 * Gives way to everything that waits for the event loop. What yields at the same time is resumed one after the other, each in an iteration of the
 * loop of its own: the pieces of long work that many requests do side by side do not add up to one that holds all else up. Callers alternate.
 */
export function yieldLoop(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  yielded.add(currentCaller(), resolve);
  if (!isResuming) void resumeAll();
  return promise;
}

/** Milliseconds all else may have to wait. */
const longestHold = 20;

/** When the first work of this iteration of the event loop began that keeps a pace; undefined: none has. */
let began: number | undefined;

/** How long such work, of whatever requests, has held the event loop since it went round, milliseconds. */
function heldFor(): number {
  const now = performance.now();
  if (began === undefined) {
    began = now;
    void setImmediate().then(() => {
      began = undefined;
    });
  }
  return now - began;
}

/**
 * Keeps long work in short holds of the event loop: `if (pace.isDue) await pace.yield()` between its steps. What many requests do within one
 * iteration of the loop counts together: hundreds that wait for the same answer go on in one go when it comes.
 */
export class Pace {
  constructor() {
    heldFor();
  }

  /** Whether all else has waited for as long as it may. */
  get isDue(): boolean {
    return heldFor() >= longestHold;
  }

  async yield(): Promise<void> {
    await yieldLoop();
    heldFor();
  }
}

/**
 * Does something with one item after the other, and lets all else have its turn now and then: thousands of links, decided by thousands of
 * patterns, take seconds, and a long text has hundreds of thousands of tokens. What is done with an item may be asynchronous.
 */
export async function forEachYielding<T>(items: Iterable<T>, work: (item: T) => unknown): Promise<void> {
  const pace = new Pace();
  for (const item of items) {
    const done = work(item);
    if (done instanceof Promise) await done;
    if (pace.isDue) await pace.yield();
  }
}

/** What each item becomes, in steps. */
export async function mapYielding<T, U>(items: Iterable<T>, become: (item: T, index: number) => U): Promise<U[]> {
  const made: U[] = [];
  await forEachYielding(items, (item) => made.push(become(item, made.length)));
  return made;
}

/** The items that a test holds for, in steps. */
export async function filterYielding<T>(items: Iterable<T>, holds: (item: T, index: number) => boolean): Promise<T[]> {
  const found: T[] = [];
  let index = 0;
  await forEachYielding(items, (item) => {
    if (holds(item, index++)) found.push(item);
  });
  return found;
}

/** The first item that a test holds for, looked for in steps; undefined without one. */
export async function findYielding<T>(items: Iterable<T>, holds: (item: T) => boolean): Promise<T | undefined> {
  const pace = new Pace();
  for (const item of items) {
    if (holds(item)) return item;
    if (pace.isDue) await pace.yield();
  }
  return undefined;
}

/** The set of what items become, made in steps. */
export async function setYielding<T, U>(items: Iterable<T>, become: (item: T) => U): Promise<Set<U>> {
  const made = new Set<U>();
  await forEachYielding(items, (item) => made.add(become(item)));
  return made;
}

/** Items that are sorted without a pause. */
const sortedAtOnce = 2_048;

/** The same items in order, sorted in steps; equal ones stay in the order they had, as with `toSorted`. */
export async function sortYielding<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const pace = new Pace();
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += sortedAtOnce) {
    runs.push(items.slice(at, at + sortedAtOnce).sort(compare));
    if (pace.isDue) await pace.yield();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await mergeRuns(runs[at] ?? [], runs[at + 1] ?? [], compare, pace));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergeRuns<T>(
  first: readonly T[],
  second: readonly T[],
  compare: (a: T, b: T) => number,
  pace: Pace,
): Promise<T[]> {
  const merged: T[] = [];
  let [left, right] = [0, 0];
  while (left < first.length && right < second.length) {
    const [one, other] = [first[left] as T, second[right] as T];
    if (compare(other, one) < 0) {
      merged.push(other);
      right += 1;
    } else {
      merged.push(one);
      left += 1;
    }
    if (merged.length % sortedAtOnce === 0 && pace.isDue) await pace.yield();
  }
  for (let at = left; at < first.length; at += 1) merged.push(first[at] as T);
  for (let at = right; at < second.length; at += 1) merged.push(second[at] as T);
  if (pace.isDue) await pace.yield();
  return merged;
}

/** Long work that may pause at each step. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Goes through the steps of work that is not long after all, without a pause. @returns what the work comes to */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Goes through the steps of long work, and lets all else have its turn between them. @returns what the work comes to */
export async function finishYielding<T>(steps: Steps<T>): Promise<T> {
  const pace = new Pace();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (pace.isDue) await pace.yield();
  }
}

/** Bytes that are worked on at once: one tag, and what comes at the same time, holds all requests. */
const piece = 64 * 1024;

/** A content in pieces, and lets all else have its turn between them. */
export async function* inPieces(content: Buffer): AsyncGenerator<Buffer> {
  const pace = new Pace();
  for (let at = 0; at < content.length; at += piece) {
    if (pace.isDue) await pace.yield();
    yield content.subarray(at, at + piece);
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

/** A semaphore for each key, first come, first served. */
export class KeyedSemaphore {
  readonly #most: number;
  readonly #queues = new Map<string, LimitFunction>();

  /** @param most how much of one key is done at the same time */
  constructor(most = 1) {
    this.#most = most;
  }

  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(key) ?? pLimit(this.#most);
    this.#queues.set(key, queue);
    try {
      return await queue(work);
    } finally {
      if (queue.activeCount + queue.pendingCount === 0) this.#queues.delete(key);
    }
  }
}

/**
 * Runs of the same work that callers share. One that comes while a run is under way gets the result of the next one, together with all others that
 * wait for it: a result is never older than the call. Those are resumed one after the other, for each does something with what may be long.
 */
export class SharedRuns<Result> {
  readonly #underWay = new Map<string, { run: Promise<Result>; next: Promise<Result> | null }>();

  /** @param work the same for all calls of one key */
  async run(key: string, work: () => Promise<Result>): Promise<Result> {
    const underWay = this.#underWay.get(key);
    if (!underWay) return this.#begin(key, work);
    underWay.next ??= underWay.run.then(
      () => this.#begin(key, work),
      () => this.#begin(key, work),
    );
    const result = await underWay.next;
    await yieldLoop();
    return result;
  }

  #begin(key: string, work: () => Promise<Result>): Promise<Result> {
    const begun = { run: work(), next: null };
    this.#underWay.set(key, begun);
    const end = () => {
      if (begun.next === null) this.#underWay.delete(key);
    };
    begun.run.then(end, end);
    return begun.run;
  }
}

const callers = new AsyncLocalStorage<string>();

/** Does work for a caller, by whose id it shares with others what there is little of. */
export const workFor = <Result>(caller: string, work: () => Result): Result => callers.run(caller, work);

/** The id of the caller for whom work is done at the moment; empty for the server's own. */
export const currentCaller = (): string => callers.getStore() ?? '';
