/** One reading of the database's clock, taken some time between the query's start and its answer. Milliseconds. */
interface ClockReading {
  /** On this process's clock (`performance.now()`). */
  sent: number;
  /** On the database's clock, since the epoch. */
  reading: number;
  /** On this process's clock. */
  received: number;
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

  take({ sent, reading, received }: ClockReading): void {
    const [least, most] = [reading - received, reading - sent];
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
