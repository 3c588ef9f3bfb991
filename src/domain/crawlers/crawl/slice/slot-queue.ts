import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { Slot } from '../../frontier/turn/turn-input.ts';
import type { BaseEntry } from '../fetch/base-entries.ts';

/** A leased URL that waits for its turn to be asked for. */
export interface Waiting extends Slot {
  base: BaseEntry | undefined;
  /** Its connection was there too late for a slot before: it is not given up for that again. */
  wasSlow?: boolean;
}

/** A request later than this has missed its slot: two of one host would come too close together. Milliseconds. */
const lateness = 12;

/** A connection is opened so long before the slot at most, or half the way from the slot before: a server may close one that is not used. */
const earliest = 1_000;

/** Whether a request has missed its slot. @param now milliseconds on the database's clock */
export const isLate = ({ start }: Slot, now: number): boolean => start > 0 && now - start > lateness;

/** What is to be done next. */
export type Next =
  | { kind: 'fetch'; waiting: Waiting }
  /** Its slot is past: it needs another one. */
  | { kind: 'late'; waiting: Waiting }
  /** Its slot is near: its connection may be opened. */
  | { kind: 'connect'; waiting: Waiting }
  /** Nothing before so many milliseconds. */
  | { kind: 'wait'; for: number };

/** Leased URLs in the order they are to be asked for, each not before its slot and no more of a host at once than it may have. */
export class SlotQueue {
  #waiting: Waiting[] = [];
  /** Those whose connections were to be opened. */
  readonly #near = new WeakSet<Waiting>();
  readonly #busy = new Map<string, number>();
  readonly #most: (host: string) => number;

  /** @param most requests to a host at the same time */
  constructor(most: (host: string) => number) {
    this.#most = most;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(waiting: readonly Waiting[]): void {
    this.#waiting.push(...waiting);
  }

  /** @param now milliseconds on the database's clock */
  next(now: number): Next {
    let soonest = Number.POSITIVE_INFINITY;
    for (const [index, waiting] of this.#waiting.entries()) {
      const { start, of, gap } = waiting;
      const isFull = (this.#busy.get(of.host) ?? 0) >= this.#most(of.host);
      if (start > now) {
        const early = isFull || this.#near.has(waiting) ? 0 : Math.min(earliest, gap / 2);
        soonest = Math.min(soonest, start - early - now);
        if (start - early > now) continue;
        this.#near.add(waiting);
        return { kind: 'connect', waiting };
      }
      if (isFull) continue;
      if (index === 0) this.#waiting.shift();
      else this.#waiting.splice(index, 1);
      if (isLate(waiting, now)) return { kind: 'late', waiting };
      this.#busy.set(of.host, (this.#busy.get(of.host) ?? 0) + 1);
      return { kind: 'fetch', waiting };
    }
    return { kind: 'wait', for: soonest };
  }

  /** A request to a host is over. */
  leave(host: string): void {
    const busy = (this.#busy.get(host) ?? 1) - 1;
    if (busy === 0) this.#busy.delete(host);
    else this.#busy.set(host, busy);
  }

  /** Takes out what waits for some hosts, or for all. */
  drop(isDropped: (host: string) => boolean): ClaimedUrl[] {
    const dropped = this.#waiting.filter(({ of }) => isDropped(of.host));
    if (dropped.length > 0) this.#waiting = this.#waiting.filter(({ of }) => !isDropped(of.host));
    return dropped.map(({ of }) => of);
  }
}
