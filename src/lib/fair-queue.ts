/** What waits for something scarce. It goes round robin by caller, and what one caller has waiting keeps its order. */
export class FairQueue<Item> implements Iterable<Item> {
  /** In the order they came. */
  readonly #callers = new Map<Item, string>();
  /** By caller, never empty; the first caller is next. */
  readonly #round = new Map<string, Set<Item>>();

  get size(): number {
    return this.#callers.size;
  }

  /** How many of one caller wait. */
  sizeOf(caller: string): number {
    return this.#round.get(caller)?.size ?? 0;
  }

  /** What one caller has waiting, in its order. */
  of(caller: string): ReadonlySet<Item> {
    return this.#round.get(caller) ?? new Set();
  }

  /** The items in the order they came. */
  [Symbol.iterator](): Iterator<Item> {
    return this.#callers.keys();
  }

  /** @param item one that does not wait already */
  add(caller: string, item: Item): void {
    this.#callers.set(item, caller);
    const own = this.#round.get(caller);
    if (own) own.add(item);
    else this.#round.set(caller, new Set([item]));
  }

  /** Removes an item that no longer waits. @returns whether it was there */
  delete(item: Item): boolean {
    const caller = this.#callers.get(item);
    if (caller === undefined) return false;
    this.#callers.delete(item);
    const own = this.#round.get(caller);
    own?.delete(item);
    if (own?.size === 0) this.#round.delete(caller);
    return true;
  }

  /**
   * Takes the next item out; its caller goes to the end of the round.
   * @param mayHave whether an item may be next; a caller whose first may not keeps its place in the round
   */
  take(mayHave?: (item: Item) => boolean): Item | undefined {
    for (const item of this.takeAll(mayHave)) return item;
    return undefined;
  }

  /**
   * Takes out one item after the other, as `take` does, in one pass: a caller whose first may not be next is not looked at again, so what an item
   * needs must not become less while others are taken. Nothing else may change the queue meanwhile.
   */
  *takeAll(mayHave: (item: Item) => boolean = () => true): Generator<Item, void, undefined> {
    // A caller that goes to the end of the round is come to once more.
    for (const [caller, own] of this.#round) {
      for (const item of own) {
        if (!mayHave(item)) break;
        this.delete(item);
        if (this.#round.delete(caller)) this.#round.set(caller, own);
        yield item;
        break;
      }
    }
  }

  /** Gives the items taken out last their places again: their callers are next, in the order of what is put back. */
  putBack(items: readonly (readonly [caller: string, item: Item])[]): void {
    if (items.length === 0) return;
    const [callers, round] = [[...this.#callers], [...this.#round]];
    this.#callers.clear();
    this.#round.clear();
    for (const [caller, item] of items) this.add(caller, item);
    for (const [item, caller] of callers) this.#callers.set(item, caller);
    for (const [caller, own] of round) this.#round.set(caller, new Set([...(this.#round.get(caller) ?? []), ...own]));
  }
}

/** How much is held of something scarce: in all, and by key. A key takes memory only while something is held by it. */
export class Tally {
  readonly #by = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  of(key: string): number {
    return this.#by.get(key) ?? 0;
  }

  /** @param more what is taken by all of the keys alike; negative: what is given back */
  add(more: number, ...keys: readonly string[]): void {
    this.#all += more;
    for (const key of keys) {
      const held = this.of(key) + more;
      if (held > 0) this.#by.set(key, held);
      else this.#by.delete(key);
    }
  }
}

interface Waiter<Caller> {
  caller: Caller;
  begin(): void;
}

interface Sharing<Caller> {
  /** What the slots of a caller are counted by; callers with the same first key share a place in the round. */
  keysOf(caller: Caller): readonly [string, ...string[]];
  /** Whether a caller may hold one more slot while there are free ones. */
  mayHold(caller: Caller, slots: FairSlots<Caller>): boolean;
}

/** Semaphore: a bounded number of jobs runs at once, and the others wait in a fair queue. A new job overtakes none that may begin. */
export class FairSlots<Caller> {
  readonly #sharing: Sharing<Caller>;
  readonly #held = new Tally();
  readonly #queue = new FairQueue<Waiter<Caller>>();
  readonly #size: number;

  constructor(size: number, sharing: Sharing<Caller>) {
    this.#size = size;
    this.#sharing = sharing;
  }

  get free(): number {
    return this.#size - this.#held.all;
  }

  /** Slots held by the callers that have a key. */
  heldBy(key: string): number {
    return this.#held.of(key);
  }

  get isIdle(): boolean {
    return this.#held.all === 0 && this.#queue.size === 0;
  }

  /** How many jobs wait: all, or those with a first key. */
  waiting(key?: string): number {
    return key === undefined ? this.#queue.size : this.#queue.sizeOf(key);
  }

  /** Runs the job when its caller has a slot. @throws what `take` throws */
  async run<T>(caller: Caller, job: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.take(caller, signal);
    try {
      return await job();
    } finally {
      release();
    }
  }

  /**
   * Takes a slot when one is free and the caller may hold another.
   * @returns gives it back; only the first call counts
   * @throws the signal's reason once it is aborted
   */
  async take(caller: Caller, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    const release = this.takeNow(caller);
    if (release) return release;
    await this.wait(caller, signal);
    return this.#releaseOf(caller);
  }

  /** Takes a slot without waiting for one. @returns gives it back, as `take` has it; null: the caller may hold no other now */
  takeNow(caller: Caller): (() => void) | null {
    if (!this.#fits(caller)) return null;
    this.#count(caller, 1);
    return this.#releaseOf(caller);
  }

  #releaseOf(caller: Caller): () => void {
    let isHeld = true;
    return () => {
      if (isHeld) this.#give(caller);
      isHeld = false;
    };
  }

  /** Waits until the caller has a slot. @throws the signal's reason once it is aborted */
  protected async wait(caller: Caller, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { caller, begin: resolve };
    const leave = () => void (this.#queue.delete(waiter) && reject(signal?.reason));
    signal?.addEventListener('abort', leave);
    this.#queue.add(this.#sharing.keysOf(caller)[0], waiter);
    await promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  #fits(caller: Caller): boolean {
    return this.free > 0 && this.#sharing.mayHold(caller, this);
  }

  #count(caller: Caller, by: 1 | -1): void {
    this.#held.add(by, ...this.#sharing.keysOf(caller));
  }

  #give(caller: Caller): void {
    this.#count(caller, -1);
    for (const waiter of this.#queue.takeAll((next) => this.#fits(next.caller))) {
      this.#count(waiter.caller, 1);
      waiter.begin();
      if (this.free === 0) return;
    }
  }
}

/**
 * Of what is scarce in a process one caller may have half, and a group of callers three quarters, so that slow peers of theirs keep no other
 * waiting: a workflow or a person, and their organisation. Of what a group and a process may have, an eighth of all is reserved for callers that
 * hold nothing: one more caller need not wait for two others.
 */
const shares = { caller: 1 / 2, group: 3 / 4, reserve: 1 / 8 };

/** What is held: in all, and by a caller and its group. */
interface Held {
  all: number;
  caller: number;
  group: number;
}

/** What callers that hold nothing have for themselves. */
export const reserveOf = (most: number): number => Math.floor(most * shares.reserve);

/** Whether a caller may hold so much more of what there is. A caller, or a group, that holds nothing may go beyond its share. */
export function mayHold(more: number, most: number, { all, caller, group }: Held): boolean {
  const mostOf = (share: number) => Math.max(Math.floor(most * share), 1);
  const reserved = caller === 0 ? 0 : reserveOf(most);
  return (
    all + more <= most - reserved &&
    (caller === 0 || caller + more <= mostOf(shares.caller)) &&
    (group === 0 || group + more <= mostOf(shares.group) - reserved)
  );
}

/** Slots of which callers and their groups have shares; waiting jobs go round robin by caller. */
export function sharedSlots<Caller>(
  most: number,
  keysOf: (caller: Caller) => readonly [caller: string, group: string],
): FairSlots<Caller> {
  return new FairSlots(most, {
    keysOf,
    mayHold(one, slots) {
      const [caller = 0, group = 0] = keysOf(one).map((key) => slots.heldBy(key));
      return mayHold(1, most, { all: most - slots.free, caller, group });
    },
  });
}

/** Slots of which only groups have shares: three quarters each, and an eighth of all is reserved for groups that hold nothing. */
export const groupSlots = (most: number): FairSlots<string> =>
  new FairSlots(most, {
    keysOf: (group) => [group],
    mayHold(group, slots) {
      const held = slots.heldBy(group);
      return held === 0 || (held < Math.floor(most * shares.group) && slots.free > reserveOf(most));
    },
  });
