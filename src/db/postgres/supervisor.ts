import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from './log.ts';
import { type Postmaster, stopPostmaster } from './postmaster.ts';

export type PostgresState = 'running' | 'restarting' | 'stopped';
export type StateListener = (state: PostgresState) => void;

interface Options {
  first: Postmaster;
  log: Log;
  /** Starts the server anew after its death. */
  relaunch(signal: AbortSignal): Promise<Postmaster>;
}

const shortestPause = 100;
const longestPause = 5_000;
/** One that lasted this long did not die of its start; the next pause is the shortest again. */
const settled = 30_000;

/** Keeps one PostgreSQL running until it is stopped. */
export class Supervisor {
  #state: PostgresState = 'running';
  #current: Postmaster;
  #pause = shortestPause;
  readonly #listeners = new Set<StateListener>();
  readonly #stopping = new AbortController();
  readonly #options: Options;
  readonly #watch: Promise<void>;

  constructor(options: Options) {
    this.#options = options;
    this.#current = options.first;
    this.#watch = this.#supervise();
  }

  get state(): PostgresState {
    return this.#state;
  }

  /** Calls the listener at every change; the answer ends that. */
  onStateChange(listener: StateListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    // A relaunch under way stops its own server when aborted, or has just handed it over.
    await this.#watch;
    await stopPostmaster(this.#current);
    this.#change('stopped');
  }

  async #supervise(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const since = performance.now();
      const reason = await Promise.race([this.#current.gone, aborted(signal)]);
      if (signal.aborted) return;
      this.#options.log.error({ pid: this.#current.pid, reason }, 'PostgreSQL died; starting it again');
      this.#change('restarting');
      if (performance.now() - since > settled) this.#pause = shortestPause;
      await this.#relaunch(signal);
    }
  }

  async #relaunch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#pause, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      this.#pause = Math.min(this.#pause * 2, longestPause);
      try {
        this.#current = await this.#options.relaunch(signal);
        this.#options.log.info({ pid: this.#current.pid }, 'PostgreSQL runs again');
        this.#change('running');
        return;
      } catch (error) {
        if (!signal.aborted) this.#options.log.error({ err: error }, 'PostgreSQL could not be started again');
      }
    }
  }

  #change(state: PostgresState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }
}

function aborted(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped'), { once: true }));
}
