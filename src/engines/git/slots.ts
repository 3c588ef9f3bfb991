import { DomainError } from '../../domain/errors.ts';

/** Lets a bounded number of jobs run at once; the others wait in order, and beyond `waiting` they are refused. */
export class Slots {
  readonly #size: number;
  readonly #waiting: number;
  readonly #queue: (() => void)[] = [];
  #taken = 0;

  constructor(size: number, waiting = Number.POSITIVE_INFINITY) {
    this.#size = size;
    this.#waiting = waiting;
  }

  /**
   * Runs the job when a slot is free.
   *
   * @throws DomainError `rate_limited` when too many wait; the signal's reason when it aborts while waiting
   */
  async run<T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#take(signal);
    try {
      return await job();
    } finally {
      this.#give();
    }
  }

  async #take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#taken < this.#size) {
      this.#taken += 1;
      return;
    }
    if (this.#queue.length >= this.#waiting)
      throw new DomainError('rate_limited', 'Too many git requests are waiting; try again shortly');
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        this.#queue.splice(this.#queue.indexOf(onTurn), 1);
        reject(signal?.reason);
      };
      const onTurn = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#queue.push(onTurn);
    });
  }

  /** The slot passes to the next in line without becoming free in between. */
  #give(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}
