import { DomainError } from '../../kernel/errors.ts';

interface SlotOptions {
  /** How many may wait; beyond they are refused. */
  waiting?: number;
  /** How long one waits at most, milliseconds. */
  patience?: number;
}

const busy = 'Too many git requests are waiting; try again shortly';

/** Semaphore: a bounded number of jobs runs at once; the others wait in order. */
export class Slots {
  readonly #size: number;
  readonly #options: SlotOptions;
  readonly #queue: (() => void)[] = [];
  #taken = 0;

  constructor(size: number, options: SlotOptions = {}) {
    this.#size = size;
    this.#options = options;
  }

  /**
   * Runs the job when a slot is free.
   *
   * @throws DomainError what `take` throws
   */
  async run<T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.take(signal);
    try {
      return await job();
    } finally {
      release();
    }
  }

  /**
   * Takes a slot when one is free.
   *
   * @returns gives it back; only the first call counts
   * @throws DomainError `rate_limited` when too many wait, `unavailable` after a long wait; the signal's reason when it aborts meanwhile
   */
  async take(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#taken < this.#size) this.#taken += 1;
    else await this.#wait(signal);
    let isHeld = true;
    return () => {
      if (isHeld) this.#give();
      isHeld = false;
    };
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { waiting = Number.POSITIVE_INFINITY, patience } = this.#options;
    if (this.#queue.length >= waiting) throw new DomainError('rate_limited', busy);
    let timer: NodeJS.Timeout | undefined;
    let onAbort = () => {};
    try {
      await new Promise<void>((resolve, reject) => {
        const leave = (reason: unknown) => {
          const at = this.#queue.indexOf(resolve);
          if (at === -1) return;
          this.#queue.splice(at, 1);
          reject(reason);
        };
        onAbort = () => leave(signal?.reason);
        signal?.addEventListener('abort', onAbort, { once: true });
        if (patience !== undefined) timer = setTimeout(() => leave(new DomainError('unavailable', busy)), patience);
        this.#queue.push(resolve);
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** The slot passes to the next in line without becoming free in between. */
  #give(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}
