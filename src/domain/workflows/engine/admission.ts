import { FairQueue } from '../../../lib/fair-queue.ts';
import type { Caller } from '../../../ports/expressions.ts';
import { keysOf, mayHold } from './shares.ts';

/** An execution that is to be taken up, with the bytes that its input and its step runs take in memory, at most. */
export interface Weighed {
  id: string;
  /** null: it cannot be taken up, and nothing of it is read. */
  caller: Caller | null;
  bytes: number;
}

/**
 * Of all memory light executions have a quarter for themselves, so that no heavy one keeps them waiting; an execution is light up to a
 * 4,096th of all.
 */
const lightShare = 1 / 4;
const lightest = 1 / 4_096;

/** What is held of one kind: in all, and by workflow and organisation, which have their shares of it. */
class Pool {
  readonly #most: number;
  readonly #by = new Map<string, number>();
  #all = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether there is room. One always has, whatever it takes, or it would wait for ever. */
  fits({ caller, bytes }: Weighed): boolean {
    if (caller === null || bytes === 0 || this.#all === 0) return true;
    const [workflow = 0, organization = 0] = keysOf(caller).map((key) => this.#by.get(key));
    return mayHold(bytes, this.#most, { all: this.#all, workflow, organization });
  }

  add({ caller }: Weighed, bytes: number): void {
    this.#all += bytes;
    for (const key of caller === null ? [] : keysOf(caller)) {
      const held = (this.#by.get(key) ?? 0) + bytes;
      if (held === 0) this.#by.delete(key);
      else this.#by.set(key, held);
    }
  }
}

/**
 * Memory that the executions of a process hold. Whatever does not fit waits, without a driver, until others are gone: round robin by workflow,
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
    this.#lightest = most * lightest;
    this.#pools = { light: new Pool(most * lightShare), heavy: new Pool(most * (1 - lightShare)) };
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
      this.#queue.add(`${this.#kindOf(one)} ${one.caller?.workflow_id}`, one);
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
