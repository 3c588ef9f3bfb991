import type { Outcome } from '../../frontier/outcome.ts';

/** Results that are written together; so many, and what was in flight, may be repeated after a crash. */
export const mostUnwritten = 100;
/** Results that are written without waiting for more. */
const fullBatch = 40;

/** Outcomes that are written together, and when what they need is kept. */
export interface Batch {
  outcomes: Outcome[];
  kept: Promise<void>;
}

/** What outcomes need beside their rows. */
export interface Keeper {
  /** Whether anything has to be kept for an outcome. */
  needs(outcome: Outcome): boolean;
  /** Keeps it; never rejects. */
  keep(outcomes: readonly Outcome[]): Promise<void>;
}

/**
 * Outcomes that wait to be written. Blobs that a batch of them refers to are stored as soon as it is full, while the batch
 * before is written: it takes as long as the disk does.
 */
export class OutcomeBuffer {
  readonly #keeper: Keeper;
  #outcomes: Outcome[] = [];
  #next: Batch | null = null;
  #since = 0;

  constructor(keeper: Keeper) {
    this.#keeper = keeper;
  }

  get size(): number {
    return this.#outcomes.length + (this.#next?.outcomes.length ?? 0);
  }

  /** There is a batch that need not wait for more. */
  get isFull(): boolean {
    return this.#next !== null;
  }

  /** When the oldest waiting outcome was added; milliseconds on this process's clock. */
  get since(): number {
    return this.#since;
  }

  add(outcome: Outcome): void {
    if (this.#outcomes.length === 0) this.#since = performance.now();
    this.#outcomes.push(outcome);
    if (this.#outcomes.length >= fullBatch) this.#next ??= this.#batch();
  }

  /** Takes the next batch, with later outcomes that need no blobs: fewer writes cost less. */
  take(): Batch {
    const batch = this.#next ?? this.#batch();
    const more = this.#outcomes.slice(0, mostUnwritten - batch.outcomes.length);
    if (!more.some((outcome) => this.#keeper.needs(outcome))) {
      batch.outcomes.push(...more);
      this.#outcomes.splice(0, more.length);
    }
    this.#next = this.#outcomes.length >= fullBatch ? this.#batch() : null;
    return batch;
  }

  #batch(): Batch {
    this.#since = performance.now();
    const outcomes = this.#outcomes.splice(0, mostUnwritten);
    return { outcomes, kept: this.#keeper.keep(outcomes) };
  }
}
