import { z } from 'zod';

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const short = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/;
/** Weeks, days, hours, minutes and seconds (ISO 8601-1, 5.5.2.2); months and years have no fixed length. */
const iso =
  /^P(?!$)(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?=\d)(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6}(?:\.\d{1,3})?)S)?)?$/;

/** A duration as definitions write it (`250ms`, `30s`, `5m`, `2h`, `7d`, or ISO 8601 such as `PT1H30M`) in milliseconds; null: it is none, or not there. */
export function parseDuration(text: string | undefined): number | null {
  if (text === undefined) return null;
  const [, amount, unit] = short.exec(text) ?? [];
  if (amount !== undefined) return Math.round(Number(amount) * units[unit as keyof typeof units]);
  const parts = iso.exec(text);
  if (parts === null) return null;
  const [weeks, days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0));
  const whole = (weeks ?? 0) * 7 * units.d + (days ?? 0) * units.d + (hours ?? 0) * units.h + (minutes ?? 0) * units.m;
  return Math.round(whole + (seconds ?? 0) * units.s);
}

export const hour = 3_600_000;
export const day = 24 * hour;

/** Why a text is no duration of at most so many milliseconds. */
export const durationFault = (most: number) =>
  `must be a duration such as 30s, 5m or PT1H, at most ${most / 1000} seconds`;

/** A span of time within bounds (milliseconds), as definitions write it. */
export const duration = (most: number, least = 1) =>
  z.string().refine((text) => {
    const length = parseDuration(text);
    return length !== null && length >= least && length <= most;
  }, durationFault(most));
