import { setTimeout as delay } from 'node:timers/promises';

/** How many writers one commit round takes at most. */
const largestBatch = 64;

/** How long after a round the next one waits for as many writers: a share of what that one took, milliseconds at most, and between two looks. */
const gathering = { share: 0.25, most: 50, look: 1 };

/** A round that has ended: how many writers it had, how long it took (milliseconds), and when it ended. */
interface Ended {
  writers: number;
  took: number;
  at: number;
}

/** An entry of the queue: a writer, or a request to hold the branch still. */
type Turn<W> = { writer: W; alone: boolean } | { hold: () => Promise<void> };

/**
 * The waiting writers of one branch in this process: one round runs at a time and takes all that have come meanwhile, in order.
 * Compare-and-swap on the ref alone starves writers under contention; the queue makes them share a round instead.
 *
 * Writers that a round has answered come back one after the other, and the first of them would have a round for itself, with all others waiting
 * for it: so a round waits a little for as many as there were in the last one.
 */
export class BranchQueues<W> {
  readonly #round: (branch: string, writers: W[]) => Promise<void>;
  readonly #waiting = new Map<string, Turn<W>[]>();
  readonly #running = new Set<Promise<void>>();
  /** The last rounds of branches that had several writers at once. */
  readonly #ended = new Map<string, Ended>();

  /** @param round settles every writer it is given and never rejects */
  constructor(round: (branch: string, writers: W[]) => Promise<void>) {
    this.#round = round;
  }

  get busy(): boolean {
    return this.#running.size > 0;
  }

  /** @param alone the writer begins a round: no other of the same round precedes it */
  add(branch: string, writer: W, alone = false): void {
    this.#line(branch, { writer, alone });
  }

  /**
   * Waits for exclusive use of every branch and keeps the writers of this process off them until `release` is called. Branches are taken in
   * sorted order, so that two callers with the same branches never deadlock.
   *
   * @throws the signal's reason when it aborts while waiting; nothing is held then
   */
  async hold(branches: Iterable<string>, signal?: AbortSignal): Promise<() => void> {
    const releases: (() => void)[] = [];
    const release = () => {
      for (const one of releases.splice(0)) one();
    };
    try {
      for (const branch of [...new Set(branches)].sort()) releases.push(await this.#holdOne(branch, signal));
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Resolves when no writer is left. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #holdOne(branch: string, signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      let givenUp = false;
      const onAbort = () => {
        givenUp = true;
        reject(signal?.reason);
      };
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      const hold = () => {
        signal?.removeEventListener('abort', onAbort);
        // Its place in line is passed over.
        if (givenUp) return Promise.resolve();
        return new Promise<void>((released) => resolve(released));
      };
      this.#line(branch, { hold });
    });
  }

  #line(branch: string, turn: Turn<W>): void {
    const waiting = this.#waiting.get(branch);
    if (waiting !== undefined) {
      waiting.push(turn);
      return;
    }
    const own = [turn];
    this.#waiting.set(branch, own);
    const running = this.#drain(branch, own).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #drain(branch: string, waiting: Turn<W>[]): Promise<void> {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      if ('hold' in first) {
        waiting.shift();
        await first.hold();
        continue;
      }
      await this.#gather(branch, waiting);
      const writers = takeRound(waiting);
      const began = performance.now();
      await this.#round(branch, writers);
      const at = performance.now();
      if (writers.length > 1) this.#ended.set(branch, { writers: writers.length, took: at - began, at });
      else this.#ended.delete(branch);
    }
    this.#waiting.delete(branch);
  }

  async #gather(branch: string, waiting: readonly Turn<W>[]): Promise<void> {
    const last = this.#ended.get(branch);
    if (!last) return;
    const until = last.at + Math.min(gathering.share * last.took, gathering.most);
    while (waiting.length < last.writers && performance.now() < until) await delay(gathering.look);
  }
}

/** The first writer and those behind it, up to one that must begin a round, or a hold. */
function takeRound<W>(waiting: Turn<W>[]): W[] {
  const writers: W[] = [];
  for (let next = waiting[0]; next !== undefined && writers.length < largestBatch; next = waiting[0]) {
    if ('hold' in next || (next.alone && writers.length > 0)) break;
    writers.push(next.writer);
    waiting.shift();
  }
  return writers;
}
