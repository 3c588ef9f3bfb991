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

/** ECMAScript patterns of the same shapes, without the calendar, for JSON Schema. */
const day = '\\d{4}-\\d{1,2}-\\d{1,2}';
const time = '(?:[Tt]|[ \\t]+)\\d{1,2}:\\d{2}(?::\\d{2}(?:[.,]\\d+)?)?[ \\t]*(?:[Zz]|[+-]\\d{1,2}(?::?\\d{2})?)?';
export const datePattern = `^${day}(?:${time})?$`;
export const datetimePattern = `^${day}${time}$`;
