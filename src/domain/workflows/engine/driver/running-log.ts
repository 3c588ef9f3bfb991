import type { DriverParts } from './parts.ts';

/** A loop's progress is told so often at most, milliseconds. */
const pause = 1_000;

/** What the log of an execution tells beside the transitions of its steps. */
export class RunningLog {
  readonly #of: Pick<DriverParts, 'journal' | 'planner'>;
  /** What was told of loops, by path. */
  readonly #told = new Map<string, { at: number; done: number }>();

  constructor(parts: Pick<DriverParts, 'journal' | 'planner'>) {
    this.#of = parts;
  }

  /** Tells how far loops have come, when that is news. */
  tellProgress(): void {
    const { journal, planner } = this.#of;
    for (const { path, done, total } of planner.progress())
      if (this.#isNews(path, done, journal.now)) journal.say('step.progress', { path, done, total });
  }

  #isNews(path: string, done: number, now: number): boolean {
    const last = this.#told.get(path);
    if (last !== undefined && (done === last.done || now - last.at < pause)) return false;
    this.#told.set(path, { at: now, done });
    return last !== undefined;
  }
}
