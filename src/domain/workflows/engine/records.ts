import type { BlobStore } from '../../../ports/blobs.ts';
import { DomainError } from '../../errors.ts';
import { type Checkpoint, type CheckpointWriter, clearsSuspicion, type Hold } from './checkpoints.ts';
import type { Journal, Standing } from './journal.ts';
import { Fenced } from './lease.ts';
import { type Ending, failure } from './lifecycle.ts';
import { type StoredValue, storeValue } from './step-rows.ts';

interface RecordsOptions {
  hold: Hold;
  writer: CheckpointWriter;
  blobs: BlobStore;
  journal: Journal;
  standing: Standing;
  /** Told when a checkpoint finds that something has happened to the execution. */
  onWord(): void;
  onCancel(reason: string): void;
  /** Called when a checkpoint has cleared the execution of suspicion. */
  onCleared(): void;
}

/** Writes down how one execution goes on, rests and ends; whoever has been taken over gets `Fenced` from each of them. */
export class Records {
  readonly #of: RecordsOptions;

  constructor(options: RecordsOptions) {
    this.#of = options;
  }

  /** Keeps what has changed. @returns whether something has happened meanwhile */
  async write(more: Partial<Checkpoint> = {}): Promise<boolean> {
    const { writer, journal, hold, standing, onCancel, onCleared, onWord } = this.#of;
    const checkpoint = { ...journal.take(hold, standing), ...more };
    const kept = await writer.write(checkpoint);
    if (kept === null) throw new Fenced();
    if (clearsSuspicion(checkpoint)) onCleared();
    if (kept.cancel !== null) onCancel(kept.cancel);
    if (kept.wake) onWord();
    return kept.wake;
  }

  /**
   * Leaves the execution to itself until a time, milliseconds since 1970, or with `isHandedOn` to whoever is free.
   * @returns false when something has happened meanwhile: it has not been left
   */
  async release({ waiting_until = null, isHandedOn = false }: Partial<Checkpoint>): Promise<boolean> {
    return !(await this.write({ waiting_until, isReleased: true, isHandedOn }));
  }

  /** Ends the execution; one whose output is too large to be kept has failed. */
  async end(ending: Ending): Promise<void> {
    const { journal, standing } = this.#of;
    const { stored, ended } = await this.#stored(ending);
    const { status, outcome, error, reason } = ended;
    journal.say(`execution.${status}`, {
      status,
      ...(standing.started_at !== null && { duration_ms: journal.now - standing.started_at }),
      ...(outcome !== undefined && { outcome }),
      ...(error !== undefined && { error }),
      ...(reason !== undefined && { reason }),
    });
    standing.status = status;
    await this.write({
      outcome: outcome ?? null,
      output: stored.text,
      output_sha256: stored.sha256,
      error: error ?? null,
      isReleased: true,
    });
  }

  async #stored(ended: Ending): Promise<{ stored: StoredValue; ended: Ending }> {
    const { blobs } = this.#of;
    try {
      return { stored: await storeValue(blobs, ended.output), ended };
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'too_large') throw error;
      const failed = failure('output_too_large', `output: ${error.message}`);
      return { stored: await storeValue(blobs, null), ended: failed };
    }
  }
}
