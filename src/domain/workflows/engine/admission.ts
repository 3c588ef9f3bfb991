import { FairQueue } from '../../../lib/fair-queue.ts';

/** An execution that is to be taken up, with the bytes that its input and its step runs take in memory, at most; 0: nothing of it is read. */
export interface Weighed {
  id: string;
  organization_id: number | null;
  bytes: number;
}

/**
 * Of all memory light executions have a quarter for themselves, so that no heavy one keeps them waiting; an execution is light up to a
 * 4,096th of all. An organisation has three quarters of what is for either kind.
 */
const shares = { light: 1 / 4, organization: 3 / 4, lightest: 1 / 4_096 };

/** What is held of one kind: in all, and by organisation. */
class Pool {
  readonly #most: number;
  readonly #by = new Map<number | null, number>();
  #all = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether there is room. One always has, whatever it takes, or it would wait for ever. */
  fits({ organization_id, bytes }: Weighed): boolean {
    const own = this.#by.get(organization_id) ?? 0;
    if (bytes === 0 || this.#all === 0) return true;
    return this.#all + bytes <= this.#most && (own === 0 || own + bytes <= this.#most * shares.organization);
  }

  add({ organization_id }: Weighed, bytes: number): void {
    this.#all += bytes;
    const own = (this.#by.get(organization_id) ?? 0) + bytes;
    if (own === 0) this.#by.delete(organization_id);
    else this.#by.set(organization_id, own);
  }
}

/**
 * Memory that the executions of a process hold. Whatever does not fit waits, without a driver, until others are gone: round robin by organisation,
 * and in the order in which they came within one.
 */
export class Admission {
  readonly #lightest: number;
  readonly #pools: Record<'light' | 'heavy', Pool>;
  readonly #held = new Map<string, Weighed>();
  readonly #queue = new FairQueue<Weighed>();
  readonly #queued = new Set<string>();

  /** @param most bytes */
  constructor(most: number) {
    this.#lightest = most * shares.lightest;
    this.#pools = { light: new Pool(most * shares.light), heavy: new Pool(most * (1 - shares.light)) };
  }

  #kindOf({ bytes }: Weighed): 'light' | 'heavy' {
    return bytes <= this.#lightest ? 'light' : 'heavy';
  }

  /** Whether an execution is held already. */
  has(id: string): boolean {
    return this.#held.has(id);
  }

  /** Ids of the executions that wait for room. */
  get waiting(): ReadonlySet<string> {
    return this.#queued;
  }

  /** Has executions wait for room that do not wait yet. */
  add(executions: readonly Weighed[]): void {
    for (const one of executions) {
      if (this.#queued.has(one.id)) continue;
      this.#queued.add(one.id);
      this.#queue.add(`${this.#kindOf(one)} ${one.organization_id}`, one);
    }
  }

  /** Takes out the next ones for which there is room, and holds it. @param most executions */
  take(most: number): string[] {
    const ids: string[] = [];
    while (ids.length < most) {
      const next = this.#queue.take((one) => this.#pools[this.#kindOf(one)].fits(one));
      if (next === undefined) break;
      this.#queued.delete(next.id);
      this.hold(next);
      ids.push(next.id);
    }
    return ids;
  }

  /** Notes what an execution takes, which may be more or less than before. */
  hold(execution: Weighed): void {
    this.release(execution.id);
    this.#held.set(execution.id, execution);
    this.#pools[this.#kindOf(execution)].add(execution, execution.bytes);
  }

  /** An execution is gone, or was not taken up after all. */
  release(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    this.#pools[this.#kindOf(held)].add(held, -held.bytes);
  }
}
