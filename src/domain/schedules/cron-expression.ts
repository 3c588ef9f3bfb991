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

const monthNames = 'January February March April May June July August September October November December'.split(' ');
const dayNames = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** More times of a day than this are described as minutes and hours. */
const mostTimes = 4;

const join = (parts: readonly string[], word = 'and') =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} ${word} ${parts.at(-1)}`;

/** `1 to 5, 9 and 12`: runs of three and more as ranges. */
function listed(values: readonly number[], name: (value: number) => string, word?: string): string {
  const parts: string[] = [];
  for (let at = 0; at < values.length; ) {
    let end = at;
    while (values[end + 1] === (values[end] ?? 0) + 1) end += 1;
    const run = values.slice(at, end + 1).map(name);
    parts.push(...(run.length > 2 ? [`${run[0]} to ${run.at(-1)}`] : run));
    at = end + 1;
  }
  return join(parts, word);
}

const two = (value: number) => String(value).padStart(2, '0');

/** The step of values that begin at 0 and go round evenly; null for others. */
function evenStep(values: readonly number[], span: number): number | null {
  const step = span / values.length;
  return values.length > 1 &&
    Number.isInteger(step) &&
    step > 1 &&
    values.every((value, index) => value === index * step)
    ? step
    : null;
}

function timeOf({ minutes, hours }: CronExpression): string {
  if (minutes.length * hours.length <= mostTimes)
    return `At ${join(hours.flatMap((hour) => minutes.map((minute) => `${two(hour)}:${two(minute)}`)))}`;
  const step = evenStep(minutes, 60);
  const every = minutes.length === 60 ? 'Every minute' : step === null ? null : `Every ${step} minutes`;
  const minute = every ?? `At minute${minutes.length > 1 ? 's' : ''} ${listed(minutes, String)}`;
  const hourStep = evenStep(hours, 24);
  if (hours.length === 24) return every ?? `${minute} of every hour`;
  if (hourStep !== null) return `${minute} of every ${hourStep} hours from 00:00`;
  return `${minute} of ${hours.length > 1 ? 'the hours' : 'the hour'} ${listed(hours, String)}`;
}

function daysOf({ days, weekdays, daysAnd }: CronExpression): string {
  const ofMonth = (word?: string) => `day ${listed(days, String, word)} of the month`;
  const ofWeek = (word?: string) => listed(weekdays, (value) => dayNames[value] ?? '', word);
  const [everyDay, everyWeekday] = [days.length === 31, weekdays.length === 7];
  if (!daysAnd) return everyDay || everyWeekday ? 'every day' : `on ${ofMonth()} or on ${ofWeek()}`;
  if (everyDay) return everyWeekday ? 'every day' : `on ${ofWeek()}`;
  return everyWeekday ? `on ${ofMonth()}` : `on ${ofMonth('or')} if it is ${ofWeek('or')}`;
}

/** What an expression says, for people: `At 00:00 on day 13 of the month or on Friday`. Nothing is decided by it. */
export function describeCron(expression: CronExpression): string {
  const { months } = expression;
  const month = months.length === 12 ? '' : `in ${listed(months, (value) => monthNames[value - 1] ?? '')}`;
  const time = timeOf(expression);
  const days = daysOf(expression);
  // `Every minute` goes on through all days.
  const said = days === 'every day' && /\bevery\b/i.test(time) ? '' : days;
  return [time, said, month].filter(Boolean).join(' ');
}
