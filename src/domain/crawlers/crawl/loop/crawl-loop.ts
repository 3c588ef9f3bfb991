import { setImmediate as nextIteration } from 'node:timers/promises';
import { settleAll } from '../../../../lib/concurrency.ts';
import { Notifier } from '../../../../lib/timing.ts';
import { LostRun } from '../../frontier/run-row.ts';
import type { StopReason } from '../crawling.ts';
import { hasOutlinks } from '../fetch/outlinks.ts';
import { BatchWriter } from './batches.ts';
import type { LoopOptions } from './loop-options.ts';
import { OutcomeBuffer } from './outcome-buffer.ts';
import { Requests } from './requests.ts';
import { type LoopEnd, Shutdown } from './shutdown.ts';

/** Works on a run for a while: fetches what is leased, and writes what has become of it with what it leads to. */
export class CrawlLoop {
  readonly #options: LoopOptions;
  readonly #requests: Requests;
  readonly #batches: BatchWriter;
  readonly #notifier = new Notifier();
  readonly #ending = new Shutdown(this.#notifier);
  readonly #began = performance.now();

  constructor(options: LoopOptions) {
    this.#options = options;
    const { context: given, services } = options;
    const unwritten = new OutcomeBuffer({
      needs: hasOutlinks,
      keep: (outcomes) => given.outlinks.keep(outcomes, services.log),
    });
    const parts = { ending: this.#ending, notifier: this.#notifier, unwritten };
    const context = { ...given, signal: this.#ending.signal };
    this.#requests = new Requests(options, { ...parts, context, answered: () => this.#pump() });
    this.#batches = new BatchWriter(options, { ...parts, requests: this.#requests });
  }

  /** Reads with the next batch whether the run is to stop. */
  look(): void {
    this.#batches.look();
    this.#notifier.notify();
  }

  /** Ends the loop. */
  stop(reason: StopReason): void {
    this.#ending.stop(reason);
  }

  async work(): Promise<LoopEnd> {
    const beat = setInterval(() => this.#notifier.notify(), this.#options.timing.idle);
    try {
      for (;;) {
        if (this.#ending.isLost) return { kind: 'lost' };
        if (!this.#batches.isDue) this.#pump();
        const { isDue } = this.#batches;
        // The batch's statements are sent before requests begin, so that database and network work at the same time.
        if (isDue) await settleAll([this.#batches.take(), nextIteration().then(() => this.#pump())]);
        const end = this.#isQuiet ? this.#ending.end(this.#batches.isDone) : null;
        if (end) return end;
        if (!isDue) await this.#notifier.wait(this.#batches.patience);
      }
    } catch (error) {
      if (error instanceof LostRun) return { kind: 'lost' };
      throw error;
    } finally {
      clearInterval(beat);
      this.#ending.breakOff();
    }
  }

  /** Nothing is under way, and everything is written. */
  get #isQuiet(): boolean {
    return this.#batches.unwritten + this.#requests.waiting === 0;
  }

  /** Starts what may start. */
  #pump(): void {
    const { timing } = this.#options;
    const ending = this.#ending;
    if (!ending.isNear && performance.now() - this.#began > timing.budget) ending.windUp(timing.stop);
    if (ending.isStopping) ending.windUpOnce(timing.drain);
    if (ending.isNear) {
      this.#requests.putBack();
      ending.breakOffLate();
    } else this.#requests.pump(() => this.#batches.hasRoom);
  }
}
