import { LRUCache } from 'lru-cache';
import { upTo } from '../../lru-size.ts';
import type { Clock } from '../../ports/clock.ts';

const minute = 60_000;
const most = 10_000;

/** Counts events by key within minutes. Per process. */
export class MinuteCounts {
  readonly #clock: Clock;
  readonly #windows = new LRUCache<string, { count: number; until: number }>(upTo(most));

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #window(key: string) {
    const now = this.#clock.now().getTime();
    const known = this.#windows.get(key);
    if (known && known.until > now && known.until <= now + minute) return known;
    const fresh = { count: 0, until: now + minute };
    this.#windows.set(key, fresh);
    return fresh;
  }

  /** Seconds until a key may be counted again; 0: now. */
  wait(key: string, limit: number): number {
    const { count, until } = this.#window(key);
    return count < limit ? 0 : Math.max(1, Math.ceil((until - this.#clock.now().getTime()) / 1000));
  }

  add(key: string): void {
    this.#window(key).count += 1;
  }
}
