import { DomainError } from '../../kernel/errors.ts';

interface SlotOptions {
  /** How many may wait; beyond they are refused. */
  waiting?: number;
  /** How long one waits at most, milliseconds. */
  patience?: number;
  /** Most slots one owner holds. */
  each?: number;
}

interface Waiter {
  owner: string;
  begin(): void;
}

const busy = 'Too many git requests are waiting; try again shortly';

/**
 * Semaphore: a bounded number of jobs runs at once; the others wait. Free slots go round robin among the owners of jobs, and the jobs of one
 * owner run in order. Jobs without an owner share one.
 */
export class Slots {
  readonly #size: number;
  readonly #options: SlotOptions;
  /** By owner, never empty; the first that may hold another slot gets the next one. */
  readonly #queues = new Map<string, Waiter[]>();
  readonly #held = new Map<string, number>();
  #taken = 0;
  #waiting = 0;

  constructor(size: number, options: SlotOptions = {}) {
    this.#size = size;
    this.#options = options;
  }

  /**
   * Runs the job when a slot is free.
   *
   * @throws DomainError what `take` throws
   */
  async run<T>(job: () => Promise<T>, signal?: AbortSignal, owner = ''): Promise<T> {
    const release = await this.take(signal, owner);
    try {
      return await job();
    } finally {
      release();
    }
  }

  /**
   * Takes a slot when one is free and the owner may hold another.
   *
   * @returns gives it back; only the first call counts
   * @throws DomainError `rate_limited` when too many wait, `unavailable` after a long wait; the signal's reason when it aborts meanwhile
   */
  async take(signal?: AbortSignal, owner = ''): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#fits(owner)) this.#count(owner, 1);
    else await this.#wait(owner, signal);
    let isHeld = true;
    return () => {
      if (isHeld) this.#give(owner);
      isHeld = false;
    };
  }

  /** No job that waits has an owner for whom this is true, so that a new one overtakes none. */
  #fits(owner: string): boolean {
    const { each = Number.POSITIVE_INFINITY } = this.#options;
    return this.#taken < this.#size && (this.#held.get(owner) ?? 0) < each;
  }

  #count(owner: string, by: 1 | -1): void {
    this.#taken += by;
    const held = (this.#held.get(owner) ?? 0) + by;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }

  async #wait(owner: string, signal: AbortSignal | undefined): Promise<void> {
    const { waiting = Number.POSITIVE_INFINITY, patience } = this.#options;
    if (this.#waiting >= waiting) throw new DomainError('rate_limited', busy);
    let timer: NodeJS.Timeout | undefined;
    let onAbort = () => {};
    try {
      await new Promise<void>((resolve, reject) => {
        const waiter = { owner, begin: resolve };
        const leave = (reason: unknown) => {
          if (this.#dequeue(waiter)) reject(reason);
        };
        onAbort = () => leave(signal?.reason);
        signal?.addEventListener('abort', onAbort, { once: true });
        if (patience !== undefined) timer = setTimeout(() => leave(new DomainError('unavailable', busy)), patience);
        this.#enqueue(waiter);
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #enqueue(waiter: Waiter): void {
    const queue = this.#queues.get(waiter.owner);
    if (queue) queue.push(waiter);
    else this.#queues.set(waiter.owner, [waiter]);
    this.#waiting += 1;
  }

  #dequeue(waiter: Waiter): boolean {
    const queue = this.#queues.get(waiter.owner) ?? [];
    const at = queue.indexOf(waiter);
    if (at === -1) return false;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(waiter.owner);
    this.#waiting -= 1;
    return true;
  }

  #give(owner: string): void {
    this.#count(owner, -1);
    for (const [next, queue] of this.#queues) {
      const [waiter] = queue;
      if (waiter === undefined || !this.#fits(next)) continue;
      this.#dequeue(waiter);
      // To the end of the round.
      this.#queues.delete(next);
      if (queue.length > 0) this.#queues.set(next, queue);
      this.#count(next, 1);
      waiter.begin();
      return;
    }
  }
}
