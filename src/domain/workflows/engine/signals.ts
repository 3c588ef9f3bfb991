/** Lets one wait for what others tell it, or for a time. */
class Bell {
  #hasRung = false;
  #ring = () => {};

  ring(): void {
    this.#hasRung = true;
    this.#ring();
  }

  /** @returns when it has been rung since the last time, or after so many milliseconds */
  async heard(milliseconds: number): Promise<void> {
    if (!this.#hasRung)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    this.#hasRung = false;
    this.#ring = () => {};
  }
}

/** Why a driver ends before its execution rests: another has taken over, or the process stops. */
export type DriverStop = 'lost' | 'closing';

/** What a driver is told from outside while it is at work. */
export class Signals {
  readonly bell = new Bell();
  readonly #abort = new AbortController();
  #stop: DriverStop | null = null;
  #cancel: string | null;
  #hasWord = false;
  #isWaiting = false;

  readonly #onWaiting: () => void;

  /**
   * @param cancel why the execution is to be cancelled already
   * @param onWaiting called when the driver begins to wait for what is under way outside
   */
  constructor(cancel: string | null, onWaiting: () => void) {
    this.#cancel = cancel;
    this.#onWaiting = onWaiting;
  }

  /** Whether the driver does nothing but wait for what is under way outside. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** @returns when there is something to look at, or after so many milliseconds */
  async heard(milliseconds: number): Promise<void> {
    this.#isWaiting = true;
    this.#onWaiting();
    await this.bell.heard(milliseconds);
    this.#isWaiting = false;
  }

  /** Aborted when nothing more may be done for the execution. */
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
    this.bell.ring();
  }

  /** Breaks off whatever is under way. */
  end(reason: string): void {
    this.#abort.abort(reason);
  }

  /** @returns whether it was not known before */
  cancel(reason: string): boolean {
    if (this.#cancel !== null) return false;
    this.#cancel = reason;
    this.bell.ring();
    return true;
  }

  /** Something has happened to the execution: its rows say what. */
  word(): void {
    this.#hasWord = true;
    this.bell.ring();
  }

  /** @returns whether there has been word since the last time */
  takeWord(): boolean {
    const had = this.#hasWord;
    this.#hasWord = false;
    return had;
  }
}
