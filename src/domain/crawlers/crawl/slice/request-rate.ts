/** Milliseconds that are looked back on. */
const span = 30_000;

/** How many requests a second a run makes, over the last half minute. */
export class RequestRate {
  #samples: { at: number; count: number }[] = [];
  readonly #began: number;
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#began = now();
  }

  count(requests: number): void {
    if (requests > 0) this.#samples.push({ at: this.#now(), count: requests });
  }

  perSecond(): number {
    const now = this.#now();
    const old = this.#samples.findIndex(({ at }) => at > now - span);
    this.#samples = old === -1 ? [] : this.#samples.slice(old);
    const all = this.#samples.reduce((sum, { count }) => sum + count, 0);
    const seconds = Math.max(1_000, Math.min(span, now - this.#began)) / 1_000;
    return Math.round((all / seconds) * 10) / 10;
  }
}
