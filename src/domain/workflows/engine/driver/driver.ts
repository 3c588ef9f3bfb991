import type { Hold } from '../checkpoints/checkpoint.ts';
import { Advance } from './advance.ts';
import type { Claimed } from './claimed.ts';
import type { DriverBench } from './driver-bench.ts';
import { Fenced } from './fenced.ts';
import { type DriverParts, makeParts } from './parts.ts';
import { type DriverStop, Signals } from './signals.ts';

/** Callbacks of a driver to its process. */
export interface DriverListener {
  /** The execution has come past a checkpoint that clears it of suspicion. */
  onCleared(): void;
  /** It does nothing but wait for what is under way outside. */
  onWaiting(): void;
}

/** Advances one execution as long as it is this process's to advance, and is told from outside what happens to it. */
export class Driver {
  readonly hold: Hold;
  readonly #signals: Signals;
  readonly #parts: DriverParts;
  readonly #advance: Advance;

  constructor(bench: DriverBench, claimed: Claimed, { onCleared, onWaiting }: DriverListener) {
    const { id, project_id, workflow_id, attempt, cancel_requested, cancel_reason } = claimed.row;
    this.hold = { id, project_id, workflow_id, attempt };
    this.#signals = new Signals(cancel_requested ? (cancel_reason ?? 'cancelled') : null, onWaiting);
    this.#parts = makeParts(bench, claimed, {
      hold: this.hold,
      signals: this.#signals,
      onCancel: (reason) => this.cancel(reason),
      onCleared,
    });
    this.#advance = new Advance({
      services: bench.services,
      takeSlot: bench.takeSlot,
      claimed,
      hold: this.hold,
      signals: this.#signals,
      ...this.#parts,
    });
  }

  /** Has it end as soon as what is being written has been. */
  stop(reason: DriverStop): void {
    this.#signals.stop(reason);
  }

  /** Breaks off what is under way, when the process has waited for it long enough. */
  breakOff(): void {
    this.#signals.end('closing');
  }

  /** Whether it does nothing but wait for what is under way outside. */
  get isWaiting(): boolean {
    return this.#signals.isWaiting;
  }

  cancel(reason: string): void {
    if (this.#signals.cancel(reason)) this.#parts.work.breakOff();
  }

  /** Something has happened to the execution: its rows say what. */
  word(): void {
    this.#signals.word();
  }

  /** @throws what is a fault of ours; the execution is taken up again then */
  async run(): Promise<void> {
    try {
      await this.#advance.run();
    } catch (error) {
      if (!(error instanceof Fenced) && this.#signals.stopped !== 'lost') throw error;
    } finally {
      this.#signals.end('over');
    }
  }
}
