import { setTimeout as delay } from 'node:timers/promises';
import { currentCaller } from '../../../lib/concurrency.ts';
import { FairQueue } from '../../../lib/fair-queue.ts';

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

/**
 * Settles the writers it is given and never rejects.
 * @param isAwaited whether others wait for the next round
 * @returns those it has left for another round, in their order
 */
type Round<W> = (branch: string, writers: W[], isAwaited: () => boolean) => Promise<readonly W[]>;

type WriterEntry<W> = { caller: string; writer: W; alone: boolean };
/** An entry of the queue: a writer, or a request to hold the branch still. */
type Entry<W> = WriterEntry<W> | { hold: () => Promise<void> };

/**
 * The waiting writers of one branch in this process: one round runs at a time and takes all that have come meanwhile, alternating between callers
 * and each caller's in order. Compare-and-swap on the ref alone starves writers under contention; the queue makes them share a round instead.
 *
 * Writers that a round has answered come back one after the other, and the first of them would have a round for itself, with all others waiting
 * for it: so a round waits a little for as many as there were in the last one.
 */
export class BranchQueues<W> {
  readonly #round: Round<W>;
  readonly #waiting = new Map<string, FairQueue<Entry<W>>>();
  readonly #running = new Set<Promise<void>>();
  /** The last rounds of branches that had several writers at once. */
  readonly #ended = new Map<string, Ended>();

  constructor(round: Round<W>) {
    this.#round = round;
  }

  get busy(): boolean {
    return this.#running.size > 0;
  }

  /** @param alone the writer begins a round: no other of the same round precedes it */
  add(branch: string, writer: W, alone = false): void {
    this.#line(branch, { caller: currentCaller(), writer, alone });
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

  #line(branch: string, entry: Entry<W>): void {
    const waiting = this.#waiting.get(branch);
    if (waiting !== undefined) {
      waiting.add(currentCaller(), entry);
      return;
    }
    const own = new FairQueue<Entry<W>>();
    own.add(currentCaller(), entry);
    this.#waiting.set(branch, own);
    const running = this.#drain(branch, own).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #drain(branch: string, waiting: FairQueue<Entry<W>>): Promise<void> {
    for (let first = waiting.take(); first !== undefined; first = waiting.take()) {
      if ('hold' in first) {
        await first.hold();
        continue;
      }
      await this.#gather(branch, waiting);
      const entries = [first, ...takeMore(waiting)];
      const began = performance.now();
      const left = await this.#round(
        branch,
        entries.map(({ writer }) => writer),
        () => waiting.size > 0,
      );
      const isLeft = new Set(left);
      waiting.putBack(entries.filter(({ writer }) => isLeft.has(writer)).map((entry) => [entry.caller, entry]));
      const at = performance.now();
      const settled = entries.length - isLeft.size;
      if (settled > 1) this.#ended.set(branch, { writers: settled, took: at - began, at });
      else this.#ended.delete(branch);
    }
    this.#waiting.delete(branch);
  }

  async #gather(branch: string, waiting: FairQueue<Entry<W>>): Promise<void> {
    const last = this.#ended.get(branch);
    if (!last) return;
    const until = last.at + Math.min(gathering.share * last.took, gathering.most);
    while (waiting.size + 1 < last.writers && performance.now() < until) await delay(gathering.look);
  }
}

/** The writers that share a round with its first: of each caller those up to one that must begin a round, or to a hold. */
function takeMore<W>(waiting: FairQueue<Entry<W>>): WriterEntry<W>[] {
  const entries: WriterEntry<W>[] = [];
  const mayJoin = (entry: Entry<W>) => 'writer' in entry && !entry.alone;
  while (entries.length + 1 < largestBatch) {
    const next = waiting.take(mayJoin);
    if (next === undefined || 'hold' in next) break;
    entries.push(next);
  }
  return entries;
}
