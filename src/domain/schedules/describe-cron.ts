import type { CronExpression } from './cron-expression.ts';

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
