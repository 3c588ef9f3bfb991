/** A date as it was written. */
export interface WrittenDate {
  /** Its UTC fields are the digits that were written. */
  wall: Date;
  /** Minutes east of UTC; null when none was written. */
  offset: number | null;
}

const written =
  /^\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:\s*(?:(Z|z|UTC)|([+-])(\d{2}):?(\d{2})?))?)?\s*$/;

/** Reads an ISO 8601 date, or one as YAML writes it; null for anything else. */
export function readDate(value: unknown): WrittenDate | null {
  const match = typeof value === 'string' ? written.exec(value) : null;
  if (!match) return null;
  const number = (at: number) => Number(match[at] ?? 0);
  const wall = new Date(Date.UTC(number(1), number(2) - 1, number(3), number(4), number(5), number(6)));
  if (Number.isNaN(wall.getTime()) || wall.getUTCDate() !== number(3)) return null;
  const sign = match[8] === '-' ? -1 : 1;
  const offset = match[7] ? 0 : match[8] ? sign * (number(9) * 60 + number(10)) : null;
  return { wall, offset };
}

/** The moment; without an offset the digits are taken as UTC. */
export const momentOf = ({ wall, offset }: WrittenDate): Date => new Date(wall.getTime() - (offset ?? 0) * 60_000);

/** The digits a clock in a time zone shows at a moment; UTC when the zone is not known. */
export function inZone(moment: Date, timeZone: string | undefined): Date {
  if (timeZone === undefined) return moment;
  try {
    const parts = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    }).formatToParts(moment);
    const part = (type: string) => Number(parts.find((one) => one.type === type)?.value ?? 0);
    const day = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
    return new Date(day);
  } catch {
    return moment;
  }
}

/** The moment at which a clock in a time zone shows these digits. */
export function momentAt(wall: Date, timeZone: string | undefined): Date {
  const guess = new Date(2 * wall.getTime() - inZone(wall, timeZone).getTime());
  // The zone may have been set forward or back between the two.
  return new Date(guess.getTime() + wall.getTime() - inZone(guess, timeZone).getTime());
}

export const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;
export const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;

export const pad = (number: number, width = 2): string => String(number).padStart(width, '0');

/** Days since the year began, from 1. */
export const yearDay = (date: Date): number =>
  Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000) + 1;

/** Year and week of ISO 8601. */
export function isoWeek(date: Date): { year: number; week: number } {
  const thursday = new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * 86_400_000);
  return { year: thursday.getUTCFullYear(), week: Math.ceil(yearDay(thursday) / 7) };
}
