import type { Plan } from '../plan/plan.ts';
import type { Claimed } from './claimed.ts';
import type { DriverParts } from './parts.ts';
import type { Signals } from './signals.ts';

/** Longest a driver waits without looking again, milliseconds. */
const longestWait = 1_000_000;

interface RestingOptions extends Pick<DriverParts, 'journal' | 'standing' | 'records'> {
  claimed: Claimed;
  signals: Signals;
}

/** How an execution waits: with its driver for what is under way, or by itself. */
export class Resting {
  readonly #of: RestingOptions;

  constructor(options: RestingOptions) {
    this.#of = options;
  }

  /** When the execution has taken too long, milliseconds since 1970. */
  get deadline(): number {
    const { standing, claimed, journal } = this.#of;
    return standing.deadline(claimed.guide.definition.timeout, journal.now);
  }

  /** Waits for an answer, a word, or a time, milliseconds since 1970. */
  heard(due: number | null): Promise<void> {
    const until = Math.min(due ?? Number.POSITIVE_INFINITY, this.deadline);
    return this.#of.signals.heard(Math.min(Math.max(until - this.#of.journal.now, 0), longestWait) + 1);
  }

  /** Nothing can run for now: writes what it waits for. @returns false when something has happened meanwhile */
  rest({ due, waitsForInput, waitsOtherwise }: Plan): Promise<boolean> {
    const { journal, standing, records } = this.#of;
    if (!waitsForInput && !waitsOtherwise && due === null)
      throw new Error('nothing can run, and nothing is waited for');
    const isPaused = waitsForInput && !waitsOtherwise;
    const times = due === null ? [] : [due];
    if (!isPaused && !standing.isFailing) times.push(this.deadline);
    if (!isPaused) standing.status = 'running';
    else if (standing.pause(journal.now)) journal.say('execution.paused', { status: 'paused' });
    return records.release({ waiting_until: times.length === 0 ? null : Math.min(...times) });
  }
}
