import { Notifier } from '../../../lib/timing.ts';

/** Why a driver ends before its execution rests: another has taken over, or the process stops or gives it back. */
export type DriverStop = 'lost' | 'closing';

/** A driver whose steps take longer to begin waits for expressions that are slow, or for a process to evaluate them, milliseconds. */
const slow = 1_000;

/** Notifications to a driver while it runs: stop, cancel, and that its rows have changed. */
export class Signals {
  readonly notifier = new Notifier();
  readonly #abort = new AbortController();
  #stop: DriverStop | null = null;
  #cancel: string | null;
  #isWoken = false;
  #isWaiting = false;
  /** Since when steps begin, by the clock of `performance`; null: none do. */
  #beginning: number | null = null;

  readonly #onWaiting: () => void;

  /**
   * @param cancel why the execution is to be cancelled already
   * @param onWaiting called when the driver begins to wait for what is under way outside
   */
  constructor(cancel: string | null, onWaiting: () => void) {
    this.#cancel = cancel;
    this.#onWaiting = onWaiting;
  }

  /** Whether the driver does nothing but wait for what is under way outside, slow expressions included. */
  get isWaiting(): boolean {
    return this.#isWaiting || (this.#beginning !== null && performance.now() - this.#beginning > slow);
  }

  /** Does what begins steps, whose expressions are evaluated in other processes. */
  async begin<T>(work: () => Promise<T>): Promise<T> {
    this.#beginning = performance.now();
    try {
      return await work();
    } finally {
      this.#beginning = null;
    }
  }

  /** Resolves at the next notification, or after so many milliseconds. */
  async wait(milliseconds: number): Promise<void> {
    this.#isWaiting = true;
    this.#onWaiting();
    await this.notifier.wait(milliseconds);
    this.#isWaiting = false;
  }

  /** Aborted when the driver must do no more work for the execution. */
  get ended(): AbortSignal {
    return this.#abort.signal;
  }

  get stopped(): DriverStop | null {
    return this.#stop;
  }

  /** Why the execution is to be cancelled. */
  get cancelled(): string | null {
    return this.#cancel;
  }

  stop(reason: DriverStop): void {
    if (this.#stop !== 'lost') this.#stop = reason;
    if (reason === 'lost') this.end(reason);
    this.notifier.notify();
  }

  /** Aborts whatever is under way. */
  end(reason: string): void {
    this.#abort.abort(reason);
  }

  /** @returns false when it is cancelled already */
  cancel(reason: string): boolean {
    if (this.#cancel !== null) return false;
    this.#cancel = reason;
    this.notifier.notify();
    return true;
  }

  /** The rows of the execution were changed by another writer. */
  wake(): void {
    this.#isWoken = true;
    this.notifier.notify();
  }

  /** @returns whether `wake` was called since the last time */
  takeWake(): boolean {
    const had = this.#isWoken;
    this.#isWoken = false;
    return had;
  }
}
