import type { TurnResult } from '../../frontier/turn/turn-input.ts';
import type { CrawlTiming } from '../timing.ts';

/** Milliseconds between claims, at least, and at most when they give nothing though some host may be asked. */
const soonest = 15;
const latest = 1_000;

/** When the next turn of a slice has to be taken, and when it may claim again. */
export class TurnClock {
  readonly #timing: CrawlTiming;
  #last: number | null = null;
  #claimAt = 0;
  /** Claims in a row that gave nothing, though some host may be asked. */
  #empty = 0;

  constructor(timing: CrawlTiming) {
    this.#timing = timing;
  }

  /** No turn was taken yet, or none for long. */
  get isOverdue(): boolean {
    return this.#last === null || performance.now() - this.#last >= this.#timing.idle;
  }

  get mayClaim(): boolean {
    return performance.now() >= this.#claimAt;
  }

  get claimAt(): number {
    return this.#claimAt;
  }

  /** A turn is over. @param wanted URLs it was to claim */
  took({ slots, wait }: Pick<TurnResult, 'slots' | 'wait'>, wanted: number): void {
    this.#last = performance.now();
    this.#empty = slots.length > 0 || wanted === 0 ? 0 : this.#empty + 1;
    const again = Math.min(soonest * 2 ** this.#empty, latest);
    this.#claimAt = this.#last + Math.min(Math.max(wait ?? 0, again), this.#timing.idle);
  }
}
