import { dateKind } from '../../schema/dates.ts';

const names = new Set(['updated', 'lastmod', 'modified']);

/** Whether a key of this name says when the entry was last changed, so that of two dates the later is right. */
export const saysWhenChanged = (key: string) => names.has(key);

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
