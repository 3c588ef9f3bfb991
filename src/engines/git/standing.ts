/** Something that holds git processes between uses. */
export interface Holder {
  /** True when nothing is under way. */
  readonly resting: boolean;
  /** Ends the processes; they start anew with the next use. */
  sleep(): void;
}

/** Repositories may be many; holders of processes are kept few. A bound on the whole process, whatever the number of repositories. */
export class StandingHolders {
  readonly #limit: number;
  /** In order of last start. */
  readonly #awake = new Set<Holder>();

  constructor(limit = 64) {
    this.#limit = limit;
  }

  /** Registers a holder whose process starts. Above the limit, the longest idle ones are ended. */
  wake(holder: Holder): void {
    this.#awake.delete(holder);
    this.#awake.add(holder);
    for (const other of this.#awake) {
      if (this.#awake.size <= this.#limit) return;
      if (other !== holder && other.resting) {
        this.#awake.delete(other);
        other.sleep();
      }
    }
  }

  /** Unregisters a holder whose process has ended. */
  slept(holder: Holder): void {
    this.#awake.delete(holder);
  }
}
