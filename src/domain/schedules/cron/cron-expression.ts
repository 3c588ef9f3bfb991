import { type CronField, cronFields, readField } from './cron-field.ts';

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
