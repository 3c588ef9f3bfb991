import type { Notifier } from '../../../../lib/timing.ts';
import type { RunEnding } from '../../runs/end-run.ts';
import type { StopReason } from '../crawling.ts';

/** How a crawl loop ends: the run ends, another loop continues it, or the run was taken over. */
export type LoopEnd = { kind: 'ended'; ending: RunEnding } | { kind: 'next' } | { kind: 'lost' };

/** Whether and why a crawl loop ends, and how long requests in flight still get. */
export class Shutdown {
  readonly #notifier: Notifier;
  readonly #abort = new AbortController();
  #stop: StopReason | null = null;
  /** When requests under way are broken off; null: they are not. */
  #until: number | null = null;
  #ending: RunEnding | null = null;

  constructor(notifier: Notifier) {
    this.#notifier = notifier;
  }

  /** Requests that are under way are broken off. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Nothing new is begun. */
  get isNear(): boolean {
    return this.#until !== null || this.#ending !== null || this.#stop !== null;
  }

  get isLost(): boolean {
    return this.#stop === 'lost';
  }

  /** The server stops. */
  get isStopping(): boolean {
    return this.#stop === 'stopping';
  }

  /** Ends the loop. */
  stop(reason: StopReason): void {
    this.#stop ??= reason;
    if (reason !== 'stopping') this.#abort.abort(reason);
    this.#notifier.notify();
  }

  /** Ends the run as soon as what is under way has been written. @param milliseconds it gets for that */
  endWith(ending: RunEnding, milliseconds: number): void {
    if (this.#ending) return;
    this.#ending = ending;
    this.windUp(milliseconds);
    if (milliseconds === 0) this.#abort.abort('over');
  }

  /** Lets what is under way come to its end, for so many milliseconds. */
  windUp(milliseconds: number): void {
    this.#until = performance.now() + milliseconds;
    setTimeout(() => this.#notifier.notify(), milliseconds + 1).unref();
  }

  /** Winds up when that has not begun. */
  windUpOnce(milliseconds: number): void {
    if (this.#until === null) this.windUp(milliseconds);
  }

  /** Breaks off what has had its time. */
  breakOffLate(): void {
    if (this.#until !== null && performance.now() > this.#until) this.breakOff();
  }

  breakOff(): void {
    this.#abort.abort('over');
  }

  /** How it ends, with nothing under way and everything written; null: it goes on. @param isDone whether nothing is left to be done */
  end(isDone: boolean): LoopEnd | null {
    if (this.#stop === 'cancel')
      return { kind: 'ended', ending: { status: 'canceled', reason: 'user', message: null } };
    if (this.#ending) return { kind: 'ended', ending: this.#ending };
    if (this.isNear) return { kind: 'next' };
    return isDone ? { kind: 'ended', ending: { status: 'completed', reason: 'done', message: null } } : null;
  }
}
