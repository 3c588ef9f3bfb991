import { setTimeout as sleep } from 'node:timers/promises';
import type { Services } from '../../../services.ts';
import { asUnavailable, isAway } from '../../../unavailable.ts';
import { isSettled } from '../plan/step-state.ts';
import { type Checkpoint, isOver, type Kept } from './checkpoint.ts';
import { keepCheckpoints } from './keep.ts';

/** Checkpoints that share a transaction at most. */
const mostTogether = 100;
/** Transactions under way: while the database writes one to the disk, the next is put together. */
const mostUnderWay = 2;
/** How often a checkpoint is tried while the database is away, and the wait between tries in milliseconds. */
const mostTries = 8;
const pause = 250;

type Needs = Pick<Services, 'orm' | 'sharedClock' | 'events' | 'jobs' | 'metrics'>;

interface Waiting {
  checkpoint: Checkpoint;
  resolve(kept: Kept): void;
  reject(error: unknown): void;
}

/**
 * Writes the checkpoints of all executions a process advances. Those that come while a transaction is under way share the next one, so that
 * many executions cost few commits and a single one waits for nothing.
 */
export class CheckpointWriter {
  readonly #services: Needs;
  #waiting: Waiting[] = [];
  #underWay = 0;

  constructor(services: Needs) {
    this.#services = services;
  }

  /** @returns when it is durable; null: it was not kept. Rejects when the database stays away. */
  write(checkpoint: Checkpoint): Promise<Kept> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ checkpoint, resolve, reject });
      if (this.#underWay < mostUnderWay) queueMicrotask(() => this.#next());
    });
  }

  #next(): void {
    if (this.#underWay >= mostUnderWay || this.#waiting.length === 0) return;
    const together = this.#waiting.splice(0, mostTogether);
    this.#underWay += 1;
    void this.#write(together).finally(() => {
      this.#underWay -= 1;
      this.#next();
    });
  }

  async #write(together: readonly Waiting[]): Promise<void> {
    try {
      const kept = await this.#keep(together.map(({ checkpoint }) => checkpoint));
      for (const { checkpoint, resolve } of together) {
        const one = kept.get(checkpoint.hold.id) ?? null;
        if (one !== null) this.#count(checkpoint);
        resolve(one);
      }
    } catch (error) {
      if (together.length === 1) return together[0]?.reject(error);
      // One that cannot be written must not take the others with it.
      for (const one of together) await this.#write([one]);
    }
  }

  #count(checkpoint: Checkpoint): void {
    const { metrics } = this.#services;
    for (const run of checkpoint.runs) if (isSettled(run)) metrics.stepSettled(run.type, run.status);
    if (isOver(checkpoint)) metrics.executionEnded(checkpoint.status);
  }

  async #keep(checkpoints: readonly Checkpoint[]): Promise<Map<string, Kept>> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#services.orm.em
          .fork()
          .transactional((em) => keepCheckpoints(em, this.#services, checkpoints));
      } catch (thrown) {
        if (!isAway(thrown) || tries >= mostTries) throw asUnavailable(thrown);
        await sleep(pause * tries);
      }
    }
  }
}
