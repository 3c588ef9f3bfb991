const datePart = /^(\d{4})-(\d{1,2})-(\d{1,2})/;
const timePart = /^(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?[ \t]*(?:[Zz]|[+-]\d{1,2}(?::?\d{2})?)?$/;

/**
 * What an ISO 8601 date, or a timestamp as YAML writes it, is: the calendar is checked (no 30 February).
 * @returns `date`, `datetime`, or null for any other text
 */
export function dateKind(text: string): 'date' | 'datetime' | null {
  const match = datePart.exec(text);
  if (match === null) return null;
  const [whole, year, month, day] = match;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  // Years below 100 are read as 19xx by Date.UTC.
  if (Number(year) < 100 || date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null;
  const rest = text.slice(whole.length);
  if (rest === '') return 'date';
  const time = timePart.exec(rest);
  if (time === null) return null;
  const [, hours, minutes, seconds = '0'] = time;
  return Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 61 ? 'datetime' : null;
}

const parts =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*(?:[Zz]|([+-])(\d{1,2}):?(\d{2})?)?)?$/;

/**
 * Milliseconds since 1970 of an ISO 8601 date or a timestamp as YAML writes it; without a zone it is taken as UTC.
 * @returns null for anything else
 */
export function instantOf(value: unknown): number | null {
  if (typeof value !== 'string' || dateKind(value) === null) return null;
  const match = parts.exec(value);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((text) => Number(text ?? 0));
  const [fraction = '', sign, zoneHour = '0', zoneMinute = '0'] = match.slice(7);
  const date = new Date(0);
  date.setUTCFullYear(year ?? 0, (month ?? 1) - 1, day);
  date.setUTCHours(hour ?? 0, minute, second, Math.trunc(Number(`0.${fraction || 0}`) * 1000));
  const zone = (Number(zoneHour) * 60 + Number(zoneMinute)) * 60_000;
  return date.getTime() + (sign === '+' ? -zone : sign === '-' ? zone : 0);
}

/** A year, or a year and a month: the beginning of it. */
const beginning = /^(\d{4})(?:-(0[1-9]|1[0-2]))?$/;
/** An English date as JavaScript reads it, such as `Jul 08 2022`; what only has digits in it somewhere is none. */
const inWords = /^(?:[A-Z][a-z]{2,8},? +)?(?:[A-Z][a-z]{2,8} +\d{1,2}|\d{1,2} +[A-Z][a-z]{2,8}),? +\d{4}\b/;
const hasZone = /(?:Z|GMT|UTC|[+-]\d{2}:?\d{2})$/i;

/**
 * The instant a text in a field of dates stands for, milliseconds since 1970: ISO 8601, a timestamp as YAML writes it, a year, a year and
 * month, or an English date. Without a time it is midnight, without a zone UTC.
 * @returns null for anything else
 */
export function timeOf(text: string): number | null {
  const begun = beginning.exec(text);
  const instant = instantOf(begun ? `${begun[1]}-${begun[2] ?? '01'}-01` : text.trim());
  if (instant !== null || !inWords.test(text)) return instant;
  const parsed = Date.parse(hasZone.test(text) ? text : `${text} UTC`);
  return Number.isNaN(parsed) ? null : parsed;
}

/** ECMAScript patterns of the same shapes, without the calendar, for JSON Schema. */
const day = '\\d{4}-\\d{1,2}-\\d{1,2}';
const time = '(?:[Tt]|[ \\t]+)\\d{1,2}:\\d{2}(?::\\d{2}(?:[.,]\\d+)?)?[ \\t]*(?:[Zz]|[+-]\\d{1,2}(?::?\\d{2})?)?';
export const datePattern = `^${day}(?:${time})?$`;
export const datetimePattern = `^${day}${time}$`;
