/** One of the five fields: its bounds, and the names its values go by. */
interface CronField {
  name: string;
  min: number;
  max: number;
  /** How many different values there are: the largest step. */
  span: number;
  /** In upper case; the first one is `min`. */
  names: readonly string[];
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const cronFields: readonly CronField[] = [
  { name: 'minute', min: 0, max: 59, span: 60, names: [] },
  { name: 'hour', min: 0, max: 23, span: 24, names: [] },
  { name: 'day-of-month', min: 1, max: 31, span: 31, names: [] },
  { name: 'month', min: 1, max: 12, span: 12, names: months },
  // 0 and 7 are the same day.
  { name: 'day-of-week', min: 0, max: 7, span: 7, names: weekdays },
];

/** `*`, `*` with a step, a value, a range, or a range with a step. */
const itemForm = /^(?:\*(?:\/(\d{1,2}))?|(\d{1,2}|[A-Z]+)(?:-(\d{1,2}|[A-Z]+)(?:\/(\d{1,2}))?)?)$/;

/** The number of a value or name; null for a name the field has not. */
function numberOf({ names, min }: CronField, text: string): number | null {
  if (/^\d/.test(text)) return Number(text);
  const index = names.indexOf(text);
  return index < 0 ? null : index + min;
}

/** @returns the numbers an item stands for, or what is wrong with it */
function readItem(field: CronField, item: string): number[] | string {
  const [match, starStep, low, high, rangeStep] = itemForm.exec(item.toUpperCase()) ?? [];
  if (match === undefined) return `unexpected "${item}"`;
  const first = low === undefined ? field.min : numberOf(field, low);
  const last = low === undefined ? Math.min(field.max, field.min + field.span - 1) : numberOf(field, high ?? low);
  if (first === null || last === null) return `unexpected "${item}"`;
  if (Math.min(first, last) < field.min || Math.max(first, last) > field.max)
    return `"${item}" is not from ${field.min} to ${field.max}`;
  if (first > last) return `"${item}" ends before it begins`;
  const step = Number(starStep ?? rangeStep ?? 1);
  if (step < 1 || step > field.span) return `the step of "${item}" is not from 1 to ${field.span}`;
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}

/** Reads one field. @returns its values in ascending order, or what is wrong with the first faulty item */
function readField(field: CronField, text: string): number[] | string {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    if (item === '') return `empty item in "${text}"`;
    const read = readItem(field, item);
    if (typeof read === 'string') return read;
    for (const value of read) values.add(field.span === 7 ? value % 7 : value);
  }
  return [...values].sort((a, b) => a - b);
}

/** Why a text is no cron expression, in words that follow the field's name. */
export class CronError extends Error {
  override name = 'CronError';
}

/** A cron expression, read: the values of each field in ascending order. Sunday is 0. */
export interface CronExpression {
  minutes: readonly number[];
  hours: readonly number[];
  days: readonly number[];
  months: readonly number[];
  weekdays: readonly number[];
  /** The minute, and the hour, begins with `*`. */
  minuteStar: boolean;
  hourStar: boolean;
  /** Days must match both fields: one of them begins with `*` (Vixie's star flag). Else either will do. */
  daysAnd: boolean;
}

const longest = 1_000;
/** Most days of each month; a leap year comes often enough. */
const monthDays = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether there is a date at all. With `daysAnd` every date has each day of the week in some year. */
const occurs = ({ days, months, daysAnd }: CronExpression) =>
  !daysAnd || months.some((month) => days.some((day) => day <= (monthDays[month - 1] ?? 0)));

/**
 * Reads `minute hour day-of-month month day-of-week`, separated by spaces or tabs.
 * @throws CronError
 */
export function parseCron(text: string): CronExpression {
  if (text.length > longest) throw new CronError(`must be at most ${longest} characters`);
  const parts = text.split(/[ \t]+/).filter((part) => part !== '');
  if (parts.length !== cronFields.length)
    throw new CronError(`must have exactly ${cronFields.length} fields, found ${parts.length}`);
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = cronFields.map((field, index) =>
    valuesOf(field, parts[index] ?? ''),
  );
  const [minute, hour, day, , weekday] = parts.map((part) => part.startsWith('*'));
  const expression = {
    minutes,
    hours,
    days,
    months,
    weekdays,
    minuteStar: minute === true,
    hourStar: hour === true,
    daysAnd: day === true || weekday === true,
  };
  if (!occurs(expression)) throw new CronError('never occurs');
  return expression;
}

function valuesOf(field: CronField, text: string): number[] {
  const read = readField(field, text);
  if (typeof read === 'string') throw new CronError(`field ${field.name}: ${read}`);
  return read;
}
