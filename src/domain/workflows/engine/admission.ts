/** What the workflows of a process share: calls, and the memory of executions. */
import { FairQueue, type FairSlots, mayHold, reserveOf, sharedSlots, Tally } from '../../../lib/fair-queue.ts';
import type { Caller } from '../../../ports/expressions.ts';

/** By what the things that a caller holds are counted: its workflow, and its organisation. */
const keysOf = ({ workflow_id, organization_id }: Caller) => [workflow_id, `organization ${organization_id}`] as const;

/** Calls of workflows that a process runs at the same time; waiting ones go round robin by workflow. */
export type CallSlots = FairSlots<Caller>;

/** @param most calls at the same time */
export const callSlots = (most: number): CallSlots => sharedSlots(most, keysOf);

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

/** How long all that becomes free is kept for the claimant, and how long others have a part of it after that; milliseconds. */
const patience = 10_000;

/** An execution as its pool counts it. */
interface Entry {
  id: string;
  pool: Pool;
  /** Its workflow, by which it waits, and its organisation. */
  keys: readonly [workflow: string, organization: string];
  /** Bytes, at most all of the pool: whatever an execution takes, it has room where nothing else is held. */
  need: number;
  /** Whether it has its bytes from the reserve. */
  isReserved: boolean;
}

/** What is kept for an execution until it has room. */
interface Claim {
  by: Entry;
  since: number;
  bytes: number;
}

/**
 * Memory of one kind of execution, of which workflows and organisations have their shares, and what waits for it: round robin by workflow.
 *
 * Small executions would pass a large one for ever. So the first that its shares allow, and others leave no room for, becomes the *claimant*.
 * What is free is kept for it, and never given away again; so is what becomes free, but for a half of it in every other phase of `patience`. Thus
 * it waits not much longer than the executions before it take. All others have the reserve meanwhile, of which each again has its share.
 */
class Pool {
  readonly #most: number;
  readonly #reserve: number;
  readonly #now: () => number;
  readonly #queue = new FairQueue<Entry>();
  readonly #held = new Tally();
  /** What is held of the reserve. */
  readonly #reserved = new Tally();
  #claim: Claim | null = null;
  /** The phase in which nothing that waits has been found to have room; null: something has changed since. */
  #seen: number | null = null;

  constructor(most: number, now: () => number) {
    this.#most = Math.floor(most);
    this.#reserve = reserveOf(this.#most);
    this.#now = now;
  }

  entryOf({ id, caller, bytes }: Weighed): Entry {
    const keys = caller === null ? (['', ''] as const) : keysOf(caller);
    return { id, pool: this, keys, need: Math.min(bytes, this.#most), isReserved: false };
  }

  /** How many of a workflow wait. */
  waitingOf(workflow: string): number {
    return this.#queue.sizeOf(workflow);
  }

  /** Whether some of what waits may have room by now. */
  get isDue(): boolean {
    return this.#queue.size > 0 && this.#seen !== this.#phase;
  }

  get #phase(): number {
    return this.#claim === null ? 0 : Math.floor((this.#now() - this.#claim.since) / patience);
  }

  /** Whether others have a part of what becomes free. */
  get #isOpen(): boolean {
    return this.#phase % 2 === 1;
  }

  /** What is free beside the reserve. */
  get #free(): number {
    return this.#most - this.#reserve - (this.#held.all - this.#reserved.all);
  }

  add(entry: Entry): void {
    if (this.#queue.sizeOf(entry.keys[0]) === 0) this.#seen = null;
    this.#queue.add(entry.keys[0], entry);
  }

  /** An execution no longer waits. */
  drop(entry: Entry): void {
    this.#queue.delete(entry);
    if (this.#claim?.by === entry) this.#claim = null;
    this.#seen = null;
  }

  /** The claimant and what comes after it in its line. @param most how many */
  claimants(most: number): Entry[] {
    if (this.#claim === null) return [];
    return [...this.#queue.of(this.#claim.by.keys[0])].slice(0, most);
  }

  /** Takes out what has room, which it holds from then on. */
  *take(): Generator<Entry, void, undefined> {
    while (this.isDue) {
      const claim = this.#claim;
      yield* this.#queue.takeAll((entry) => this.#tryHold(entry));
      // Without that claim there may be room for what had none before in this pass.
      this.#seen = claim === null || claim === this.#claim ? this.#phase : null;
    }
  }

  #tryHold(entry: Entry): boolean {
    if (entry.need > 0 && !this.#mayTake(entry)) return false;
    this.hold(entry);
    return true;
  }

  #mayTake(entry: Entry): boolean {
    const claim = this.#claim;
    if (claim !== null && claim.by !== entry) return this.#mayPass(entry, claim);
    const fits = this.#fits(entry, this.#held.all);
    if (fits || !this.#fits(entry, 0)) this.#claim = null;
    else if (claim === null) {
      this.#claim = { by: entry, since: this.#now(), bytes: 0 };
      this.#keep(this.#claim, 0);
    }
    return fits;
  }

  /** Whether there is room beside the claim: in the reserve, or in what is free in the phases that are open for others. */
  #mayPass(entry: Entry, claim: Claim): boolean {
    if (!this.#fits(entry, 0)) return false;
    if (this.#isOpen && entry.need <= this.#free - claim.bytes) return true;
    entry.isReserved = this.#hasReserve(entry, claim);
    return entry.isReserved;
  }

  /** The reserve is for workflows that hold nothing else; for all others only in open phases. */
  #hasReserve({ keys: [workflow, organization], need }: Entry, claim: Claim): boolean {
    const reserved = this.#reserved;
    const isFirst = this.#held.of(workflow) === reserved.of(workflow);
    if (!this.#isOpen && (!isFirst || this.#isReserveClaimed(claim))) return false;
    const held = { all: reserved.all, caller: reserved.of(workflow), group: reserved.of(organization) };
    return this.#held.all + claim.bytes + need <= this.#most && mayHold(need, this.#reserve, held);
  }

  /** An execution that needs more than all but the reserve claims that last. */
  #isReserveClaimed({ bytes }: Claim): boolean {
    return bytes >= this.#most - this.#reserve;
  }

  /** Keeps for the claimant what is free. @param freed bytes of it that have just become free; not all are kept of these in open phases */
  #keep(claim: Claim, freed: number): void {
    const { need, keys } = claim.by;
    const isFirst = this.#held.of(keys[0]) === 0;
    const free = this.#isReserveClaimed(claim) ? this.#most - this.#held.all : this.#free;
    const kept = this.#isOpen ? claim.bytes + freed / 2 : free;
    claim.bytes = Math.max(claim.bytes, Math.min(kept, free, need + (isFirst ? 0 : this.#reserve)));
  }

  /** Whether there is room beside what is held in all. */
  #fits({ keys: [workflow, organization], need }: Entry, all: number): boolean {
    return mayHold(need, this.#most, { all, caller: this.#held.of(workflow), group: this.#held.of(organization) });
  }

  hold(entry: Entry): void {
    this.#count(entry, entry.need);
  }

  /** An execution takes more or less than before. */
  replace(before: Entry, after: Entry): void {
    after.isReserved = before.isReserved;
    this.#count(before, -before.need);
    this.#count(after, after.need);
  }

  release(entry: Entry): void {
    this.#count(entry, -entry.need);
    if (this.#claim !== null) this.#keep(this.#claim, entry.need);
  }

  #count({ keys, isReserved }: Entry, more: number): void {
    if (more === 0) return;
    this.#held.add(more, ...keys);
    if (isReserved) this.#reserved.add(more, ...keys);
    this.#seen = null;
  }
}

/** What several of them have, one of each in turn. */
function* alternating<Item>(...all: Iterator<Item, void>[]): Generator<Item, void, undefined> {
  const left = new Set(all);
  while (left.size > 0) {
    for (const one of left) {
      const next = one.next();
      if (next.done) left.delete(one);
      else yield next.value;
    }
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
  readonly #light: Pool;
  readonly #heavy: Pool;
  readonly #held = new Map<string, Entry>();
  readonly #waiting = new Map<string, Entry>();

  /** @param most bytes @param now milliseconds, by a clock that is never set */
  constructor(most: number, now = () => performance.now()) {
    this.#lightest = most * lightest;
    this.#light = new Pool(most * lightShare, now);
    this.#heavy = new Pool(most * (1 - lightShare), now);
  }

  #entryOf(one: Weighed): Entry {
    return (one.bytes <= this.#lightest ? this.#light : this.#heavy).entryOf(one);
  }

  /** Whether an execution is held already. */
  has(id: string): boolean {
    return this.#held.has(id);
  }

  /** The executions that wait for room, by their ids. */
  get waiting(): ReadonlyMap<string, unknown> {
    return this.#waiting;
  }

  /** Whether some of them may have room by now. */
  get isDue(): boolean {
    return this.#light.isDue || this.#heavy.isDue;
  }

  /** How many more executions of a workflow may wait. */
  roomFor(workflow: string): number {
    const before = Math.max(this.#light.waitingOf(workflow), this.#heavy.waitingOf(workflow));
    const left = Math.min(mostWaiting.line - before, mostWaiting.all - this.#waiting.size);
    return Math.max(left, before === 0 ? 1 : 0);
  }

  /** Has executions wait for room that do not wait yet, but for those with too many before them. */
  add(executions: readonly Weighed[]): void {
    for (const one of executions) {
      // One that waits, and can no longer be taken up, waits for nothing.
      if (one.caller === null) this.drop([one.id]);
      if (this.#waiting.has(one.id)) continue;
      const entry = this.#entryOf(one);
      const before = entry.pool.waitingOf(entry.keys[0]);
      if (before >= mostWaiting.line || (before > 0 && this.#waiting.size >= mostWaiting.all)) continue;
      this.#waiting.set(one.id, entry);
      entry.pool.add(entry);
    }
  }

  /** Has executions wait no longer. */
  drop(ids: Iterable<string>): void {
    for (const id of ids) {
      const entry = this.#waiting.get(id);
      this.#waiting.delete(id);
      entry?.pool.drop(entry);
    }
  }

  /** What others wait behind: ids of the claimants, and of what comes after them in their lines. @param most of each kind */
  claimants(most: number): string[] {
    return [this.#light, this.#heavy].flatMap((pool) => pool.claimants(most).map(({ id }) => id));
  }

  /** Takes out the next ones for which there is room, and holds it. @param most executions */
  take(most: number): string[] {
    const ids: string[] = [];
    for (const entry of alternating(this.#heavy.take(), this.#light.take())) {
      this.#waiting.delete(entry.id);
      this.#held.set(entry.id, entry);
      ids.push(entry.id);
      if (ids.length === most) break;
    }
    return ids;
  }

  /** Notes what an execution takes, which may be more or less than before. */
  hold(execution: Weighed): void {
    const [before, entry] = [this.#held.get(execution.id), this.#entryOf(execution)];
    if (before?.pool === entry.pool) {
      if (before.need === entry.need) return;
      entry.pool.replace(before, entry);
    } else {
      this.release(execution.id);
      entry.pool.hold(entry);
    }
    this.#held.set(execution.id, entry);
  }

  /** An execution is gone, or was not taken up after all. */
  release(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    held.pool.release(held);
  }
}
