/** One look at the database's clock: what it said, some time between being asked and being heard. Milliseconds. */
interface ClockReading {
  /** On this process's clock (`performance.now()`). */
  asked: number;
  /** On the database's clock, since the epoch. */
  said: number;
  /** On this process's clock. */
  heard: number;
}

interface Clocks {
  /** Goes on evenly. */
  own(): number;
  /** The machine's, since the epoch. */
  machine(): number;
}

/**
 * The database's clock, by which all processes take the slots of a host, as far as this process knows it. An answer may have been waited for,
 * for another transaction or for this process to read it, so each reading only says between what bounds the clocks differ; together the
 * readings make these narrow. Within them the machine's clock is believed: as a rule the database is on this machine, or both are set
 * by the same time.
 */
export class SlotClock {
  readonly #clocks: Clocks;
  /** From this process's clock to the database's. */
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;

  constructor(clocks: Clocks = { own: () => performance.now(), machine: () => Date.now() }) {
    this.#clocks = clocks;
  }

  take({ asked, said, heard }: ClockReading): void {
    const [least, most] = [said - heard, said - asked];
    // One of the clocks has been set, or they do not go equally fast.
    const isOutside = least > this.#most || most < this.#least;
    this.#least = isOutside ? least : Math.max(least, this.#least);
    this.#most = isOutside ? most : Math.min(most, this.#most);
  }

  /** Milliseconds since the epoch. */
  now(): number {
    const own = this.#clocks.own();
    return own + Math.min(this.#most, Math.max(this.#least, this.#clocks.machine() - own));
  }
}
