import { Encodings } from './encodings.ts';

/** Why a run ends before its time: somebody cancelled it, the server stops, or another worker has taken it over. */
export type StopReason = 'cancelled' | 'stopping' | 'lost';

/** The deployments that run in this process. */
export class Building {
  readonly #running = new Map<number, { stop: AbortController; done: Promise<void> }>();
  #closing = false;
  /** What is done to their outputs afterwards. */
  readonly encodings = new Encodings();

  get closing(): boolean {
    return this.#closing;
  }

  /** Runs one; `work` gets a signal whose reason is a `StopReason`. */
  async run(
    id: number,
    work: (signal: AbortSignal, stop: (reason: StopReason) => void) => Promise<void>,
  ): Promise<void> {
    const stop = new AbortController();
    const done = work(stop.signal, (reason) => stop.abort(reason));
    this.#running.set(id, { stop, done: done.catch(() => {}) });
    await done.finally(() => this.#running.delete(id));
  }

  /** Ends a deployment if it runs here; elsewhere its worker hears of it within a second. */
  cancel(id: number): void {
    this.#running.get(id)?.stop.abort('cancelled' satisfies StopReason);
  }

  /** Ends all that run, to be begun again by whoever comes next. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const { stop } of this.#running.values()) stop.abort('stopping' satisfies StopReason);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
    await this.encodings.close();
  }
}
