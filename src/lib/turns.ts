import pLimit, { type LimitFunction } from 'p-limit';

/** Lets work that belongs together take turns, in the order it comes; other work goes on beside it. */
export class Turns {
  readonly #most: number;
  readonly #lines = new Map<string, LimitFunction>();

  /** @param most how much of one key goes on at the same time */
  constructor(most = 1) {
    this.#most = most;
  }

  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(key) ?? pLimit(this.#most);
    this.#lines.set(key, line);
    try {
      return await line(work);
    } finally {
      if (line.activeCount + line.pendingCount === 0) this.#lines.delete(key);
    }
  }
}
