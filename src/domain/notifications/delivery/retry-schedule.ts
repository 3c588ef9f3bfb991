const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** What lies between one try and the next, milliseconds; the first try is at once. */
const pauses = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];
const jitter = 0.1;
const mostAsked = hour;

/** Tries of one delivery. */
export const mostTries = pauses.length + 1;

/** Seconds or a date (RFC 9110 10.2.3), in milliseconds from now; null for anything else. */
export function retryAfter(text: string | null, now: Date): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * second;
  const at = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime());
}

/**
 * When to try again.
 * @param tries how many there have been
 * @param asked what the receiver asked for, milliseconds: obeyed when it is longer, up to an hour
 * @param random from 0 to 1: every pause is up to a tenth shorter or longer, so that many deliveries do not come at once
 * @returns milliseconds from now; null when that was the last try
 */
export function nextPause(tries: number, asked: number | null, random: number): number | null {
  const pause = pauses[tries - 1];
  if (pause === undefined) return null;
  const jittered = Math.round(pause * (1 - jitter + 2 * jitter * random));
  return Math.max(jittered, Math.min(asked ?? 0, mostAsked));
}
