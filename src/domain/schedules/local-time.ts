import { LRUCache } from 'lru-cache';

/**
 * Local times are milliseconds as `Date.UTC` would give for what a clock on the wall shows; instants are milliseconds since 1970. Both
 * lie on whole minutes.
 */
export const minute = 60_000;
const day = 24 * 60 * minute;

/** Zones go by many spellings, which callers choose: more than there are zones need not be kept. */
const formats = new LRUCache<string, Intl.DateTimeFormat>({ max: 500 });

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  formats.set(zone, made);
  return made;
}

/** What a clock on the wall of a zone shows, to the minute. */
export function localTime(instant: number, zone: string): number {
  if (zone === 'UTC') return instant;
  const [, month, date, year, hour, minutes] =
    /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+)$/.exec(formatOf(zone).format(instant)) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(date), Number(hour), Number(minutes));
}

const offset = (instant: number, zone: string) => localTime(instant, zone) - instant;

/** Whether a text names a time zone of the IANA database this runtime knows. */
export function isTimeZone(text: string): boolean {
  // Offsets such as +05:30 are no zones of the database.
  if (!/^[A-Za-z]/.test(text) || text.length > 64) return false;
  try {
    formatOf(text);
    return true;
  } catch {
    return false;
  }
}

/** When a local time is: once, twice (the clock was set back over it), or never. */
export interface Moments {
  first: number;
  /** The same local time again. */
  second: number | null;
  /** The clock was set forward over it; `first` is when that happened. */
  skipped: boolean;
}

/** The instants of a local time. No zone changes its clock twice within two days. */
export function momentsOf(local: number, zone: string): Moments {
  const before = offset(local - day, zone);
  const after = offset(local + day, zone);
  if (before === after) return { first: local - before, second: null, skipped: false };
  const [early, late] = [local - before, local - after];
  const atFirst = offset(early, zone) === before;
  const atSecond = offset(late, zone) === after;
  if (atFirst) return { first: early, second: atSecond ? late : null, skipped: false };
  if (atSecond) return { first: late, second: null, skipped: false };
  return { first: changeBetween(late, early, zone), second: null, skipped: true };
}

/** The minute from which on a zone has another offset than at `low`; `high` has it. */
function changeBetween(low: number, high: number, zone: string): number {
  const was = offset(low, zone);
  let [same, other] = [low, high];
  while (other - same > minute) {
    const middle = same + Math.floor((other - same) / 2 / minute) * minute;
    if (offset(middle, zone) === was) same = middle;
    else other = middle;
  }
  return other;
}

/** By how much a clock is set back in the day around an instant, milliseconds; mostly 0. */
export const setBack = (instant: number, zone: string): number =>
  Math.max(0, offset(instant - day, zone) - offset(instant + day, zone));
