import { FairQueue, mayHold, reserveOf, Tally } from '../../../lib/fair-queue.ts';
import type { Caller } from '../../../ports/expressions.ts';
import { keysOf } from './shares.ts';

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

/** How long nothing passes an execution that others leave no room for, and how long it is passed again after that; milliseconds. */
const patience = 10_000;

/** Memory of one kind of execution, of which workflows and organisations have their shares. */
class Pool {
  readonly #most: number;
  readonly #now: () => number;
  readonly #held = new Tally();
  /** What waits for others to be gone, though its caller may have it, since when, and the bytes that were let past it. */
  #blocked: { id: string; since: number; past: number } | null = null;

  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  /**
   * Whether the first in a line is taken. Small ones would pass a large one for ever, so nothing passes it but a reserve of workflows that hold
   * nothing; and that only for some time, since what leaves it no room may go on for a quarter of an hour.
   */
  take(one: Weighed): boolean {
    if (one.bytes === 0) return true;
    const fits = this.#fits(one, this.#held.all);
    const blocked = this.#blocked;
    if (blocked === null) {
      if (!fits && this.#fits(one, 0)) this.#blocked = { id: one.id, since: this.#now(), past: 0 };
    } else if (blocked.id === one.id) {
      if (fits || !this.#fits(one, 0)) this.#blocked = null;
    } else if (fits) return this.#mayPass(one, blocked);
    return fits;
  }

  #mayPass({ caller, bytes }: Weighed, blocked: { since: number; past: number }): boolean {
    const isPassed = Math.floor((this.#now() - blocked.since) / patience) % 2 === 1;
    const past = isPassed ? 0 : blocked.past + bytes;
    const isFirst = caller !== null && this.#held.of(keysOf(caller)[0]) === 0;
    if (!isPassed && (!isFirst || past > reserveOf(this.#most))) return false;
    blocked.past = past;
    return true;
  }

  /** Whether there is room beside what is held. One always has, whatever it takes, or it would wait for ever. */
  #fits({ caller, bytes }: Weighed, all: number): boolean {
    if (caller === null || this.#held.all === 0) return true;
    const [workflow = 0, organization = 0] = keysOf(caller).map((key) => this.#held.of(key));
    return mayHold(bytes, this.#most, { all, caller: workflow, group: organization });
  }

  add({ caller }: Weighed, bytes: number): void {
    this.#held.add(bytes, ...(caller === null ? [] : keysOf(caller)));
  }
}

/** Executions that wait for room at most, by their ids: of a workflow and kind, and in all. The sweep finds those beyond. */
const mostWaiting = { line: 10_000, all: 100_000 };

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

  /** @param most bytes @param now milliseconds, by a clock that is never set */
  constructor(most: number, now = () => performance.now()) {
    this.#lightest = most * lightest;
    this.#pools = { light: new Pool(most * lightShare, now), heavy: new Pool(most * (1 - lightShare), now) };
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

  /** Has executions wait for room that do not wait yet, but for those with too many before them. */
  add(executions: readonly Weighed[]): void {
    for (const one of executions) {
      if (this.#queued.has(one.id)) continue;
      const line = `${this.#kindOf(one)} ${one.caller?.workflow_id}`;
      const before = this.#queue.sizeOf(line);
      if (before >= mostWaiting.line || (before > 0 && this.#queue.size >= mostWaiting.all)) continue;
      this.#queued.add(one.id);
      this.#queue.add(line, one);
    }
  }

  /** Takes out the next ones for which there is room, and holds it. @param most executions */
  take(most: number): string[] {
    const ids: string[] = [];
    while (ids.length < most) {
      const next = this.#queue.take((one) => this.#pools[this.#kindOf(one)].take(one));
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
