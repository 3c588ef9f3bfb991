/** How a host has been answering, shared by all runs of a project. Times in milliseconds since the epoch. */
export interface HostPace {
  host: string;
  /** Start of the next free slot; 0: any time. */
  next_at: number;
  /** Seconds between starts that the host demands by 429 and 503; 0: none. */
  delay: number;
  paused_until: number;
  /** Transport failures in a row. */
  failures: number;
  /** Pauses after such failures, since it last answered. */
  pauses: number;
  /** Good answers since its delay last changed. */
  good: number;
}

/** What one request shows of its host. */
export type HostSignal =
  | { kind: 'good' }
  /** 429 or 503; `isFirst` unless an earlier answer to requests sent at the same time has said so. */
  | { kind: 'throttled'; isFirst: boolean; retryAfter: number | null }
  /** No answer at all. */
  | { kind: 'failed' };

const mostDelay = 60;
const failuresBeforePause = 10;
const firstPause = 60;
const mostPauses = 5;
const goodBeforeFaster = 20;
/** Milliseconds. */
const second = 1_000;

/**
 * @param configured seconds between starts as run and robots.txt want it
 * @returns the pace after a signal, and whether the host is given up by it
 */
export function afterSignal(
  pace: HostPace,
  signal: HostSignal,
  { configured, now }: { configured: number; now: number },
): { pace: HostPace; isDown: boolean } {
  const isDown = false;
  if (signal.kind === 'failed') {
    // Requests that were in flight when the pause began are no new evidence.
    if (pace.paused_until > now) return { pace, isDown };
    const failures = pace.failures + 1;
    if (failures < failuresBeforePause) return { pace: { ...pace, failures, good: 0 }, isDown };
    if (pace.pauses >= mostPauses) return { pace: { ...pace, failures: 0, pauses: 0 }, isDown: true };
    const paused_until = now + firstPause * 2 ** pace.pauses * second;
    return { pace: { ...pace, failures: 0, good: 0, pauses: pace.pauses + 1, paused_until }, isDown };
  }
  const answered = { ...pace, failures: 0, pauses: 0 };
  if (signal.kind === 'throttled') {
    const paused_until = Math.max(pace.paused_until, now + (signal.retryAfter ?? 0) * second);
    if (!signal.isFirst) return { pace: { ...answered, paused_until }, isDown };
    const delay = Math.min(mostDelay, Math.max(1, 2 * Math.max(pace.delay, configured)));
    return { pace: { ...answered, paused_until, delay, good: 0 }, isDown };
  }
  if (pace.delay === 0) return { pace: { ...answered, good: 0 }, isDown };
  if (pace.good + 1 < goodBeforeFaster) return { pace: { ...answered, good: pace.good + 1 }, isDown };
  const delay = pace.delay * 0.9;
  return { pace: { ...answered, good: 0, delay: delay <= Math.max(configured, 0.05) ? 0 : delay }, isDown };
}

/** URLs are claimed when their slot comes within so many milliseconds. */
export const horizon = 20_000;
/** Added to the gap between starts, so that a late start does not come too close to the next. */
const margin = 10;
/** The first slot lies so far ahead that the transaction that takes it is over by then. */
const lead = 20;

/** Milliseconds between starts; 0: any. */
export const gapOf = (pace: HostPace, configured: number): number => {
  const delay = Math.max(pace.delay, configured);
  return delay === 0 ? 0 : delay * second + margin;
};

/** How many requests to a host may be claimed now, at most `most`. */
export function allowance(pace: HostPace, gap: number, now: number, most: number): number {
  if (pace.paused_until > now) return 0;
  if (gap === 0) return most;
  const wait = Math.max(0, pace.next_at - now);
  return wait >= horizon ? 0 : Math.min(most, Math.floor((horizon - wait) / gap) + 1);
}

/** Takes `count` slots. @returns their starts, and the next one that is free */
export function takeSlots(
  pace: HostPace,
  gap: number,
  now: number,
  count: number,
): { starts: number[]; next_at: number } {
  const first = Math.max(pace.next_at, now + lead);
  return { starts: Array.from({ length: count }, (_, index) => first + index * gap), next_at: first + count * gap };
}

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
