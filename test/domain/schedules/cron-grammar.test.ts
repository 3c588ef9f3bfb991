import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { describeCron, parseCron } from '../../../src/domain/schedules/cron-expression.ts';
import { isTimeZone } from '../../../src/domain/schedules/local-time.ts';

const faultOf = (text: string) => {
  try {
    parseCron(text);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the grammar refuses', () => {
  it.each([
    ['', 'must have exactly 5 fields, found 0'],
    ['* * * *', 'must have exactly 5 fields, found 4'],
    ['* * * * * *', 'must have exactly 5 fields, found 6'],
    ['@daily', 'must have exactly 5 fields, found 1'],
    ['@daily * * * *', 'field minute: unexpected "@daily"'],
    ['* * * * 5L', 'field day-of-week: unexpected "5L"'],
    ['* * L * *', 'field day-of-month: unexpected "L"'],
    ['* * 15W * *', 'field day-of-month: unexpected "15W"'],
    ['* * * * 5#2', 'field day-of-week: unexpected "5#2"'],
    ['* * ? * *', 'field day-of-month: unexpected "?"'],
    ['H * * * *', 'field minute: unexpected "H"'],
    ['0~9 * * * *', 'field minute: unexpected "0~9"'],
    ['60 * * * *', 'field minute: "60" is not from 0 to 59'],
    ['* 24 * * *', 'field hour: "24" is not from 0 to 23'],
    ['* * 0 * *', 'field day-of-month: "0" is not from 1 to 31'],
    ['* * 32 * *', 'field day-of-month: "32" is not from 1 to 31'],
    ['* * * 0 *', 'field month: "0" is not from 1 to 12'],
    ['* * * 13 *', 'field month: "13" is not from 1 to 12'],
    ['* * * * 8', 'field day-of-week: "8" is not from 0 to 7'],
    ['5-1 * * * *', 'field minute: "5-1" ends before it begins'],
    ['* * * * SAT-SUN', 'field day-of-week: "SAT-SUN" ends before it begins'],
    ['*/0 * * * *', 'field minute: the step of "*/0" is not from 1 to 60'],
    ['*/61 * * * *', 'field minute: the step of "*/61" is not from 1 to 60'],
    ['* */25 * * *', 'field hour: the step of "*/25" is not from 1 to 24'],
    ['* * * * */8', 'field day-of-week: the step of "*/8" is not from 1 to 7'],
    ['5/15 * * * *', 'field minute: unexpected "5/15"'],
    ['1,,2 * * * *', 'field minute: empty item in "1,,2"'],
    ['1, * * * *', 'field minute: empty item in "1,"'],
    ['1- * * * *', 'field minute: unexpected "1-"'],
    ['-1 * * * *', 'field minute: unexpected "-1"'],
    ['1.5 * * * *', 'field minute: unexpected "1.5"'],
    ['005 * * * *', 'field minute: unexpected "005"'],
    ['MON * * * *', 'field minute: unexpected "MON"'],
    ['* * * MON *', 'field month: unexpected "MON"'],
    ['* * * JANUARY *', 'field month: unexpected "JANUARY"'],
    ['*\u00a0* * * * *', 'field minute: unexpected "*\u00a0*"'],
    ['0 0 31 2 *', 'never occurs'],
    ['0 0 30 2,2 *', 'never occurs'],
    ['0 0 31 4,6,9,11 */2', 'never occurs'],
  ])('%j', (text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });
});

it('takes expressions of a thousand characters and no longer', () => {
  const text = (length: number) => `${'0,'.repeat((length - 10) / 2)}0 * * * *`.padEnd(length);
  expect(text(1_000).length).toBe(1_000);
  expect(faultOf(text(1_000))).toBeNull();
  expect(faultOf(`${text(1_000)} `)).toBe('must be at most 1000 characters');
});

describe('the grammar takes', () => {
  it.each([
    '0 0 29 2 *',
    '0 0 31 2 1',
    '*/60 */24 */31 */12 */7',
    '00 09 1-31/2 jan-DEC/3 Mon-FRI',
    '0-59 0-23 1-31 1-12 0-7',
    '0 0 * * 5-7',
    '\t0  0 1,15 *\t* ',
  ])('%j', (text) => {
    expect(faultOf(text)).toBeNull();
  });

  it('values as sets, Sunday as 0', () => {
    expect(parseCron('1,1,0-4/2 * * FEB 5-7')).toMatchObject({
      minutes: [0, 1, 2, 4],
      months: [2],
      weekdays: [0, 5, 6],
    });
  });
});

it.each([
  ['* * * * *', 'Every minute'],
  ['*/15 * * * *', 'Every 15 minutes'],
  ['30 * * * *', 'At minute 30 of every hour'],
  ['0 */6 * * *', 'At 00:00, 06:00, 12:00 and 18:00 every day'],
  ['0 */2 * * *', 'At minute 0 of every 2 hours from 00:00'],
  ['0 2 * * *', 'At 02:00 every day'],
  ['*/10 9-17 * * 1-5', 'Every 10 minutes of the hours 9 to 17 on Monday to Friday'],
  ['0 0 13 * 5', 'At 00:00 on day 13 of the month or on Friday'],
  ['0 0 */10 * 1', 'At 00:00 on day 1, 11, 21 or 31 of the month if it is Monday'],
  ['0 0 1-31 * 1', 'At 00:00 every day'],
  ['5,35 4 1,15 1,6-8 *', 'At 04:05 and 04:35 on day 1 and 15 of the month in January and June to August'],
])('says what %s means', (text, words) => {
  expect(describeCron(parseCron(text))).toBe(words);
});

it.each([
  ['UTC', true],
  ['America/New_York', true],
  ['Asia/Kathmandu', true],
  ['Europe/Atlantis', false],
  ['', false],
  ['+05:30', false],
  [`Europe/${'x'.repeat(80)}`, false],
])('knows whether %s is a time zone', (text, known) => {
  expect(isTimeZone(text)).toBe(known);
});

it('spellings of a time zone do not pile up in memory', () => {
  // In a process of its own that collects what nothing holds: others would do so at any time.
  const script = `
    import { isTimeZone } from ${JSON.stringify(new URL('../../../src/domain/schedules/local-time.ts', import.meta.url).href)};
    const spelling = (bits) =>
      Array.from('america/argentina/buenos_aires', (letter, at) => ((bits >> at) & 1 ? letter.toUpperCase() : letter)).join('');
    const before = process.memoryUsage.rss();
    for (let bits = 0; bits < 20_000; bits += 1) {
      if (!isTimeZone(spelling(bits))) throw new Error(spelling(bits));
      if (bits % 1_000 === 999) gc();
    }
    console.log(process.memoryUsage.rss() - before);`;
  const grown = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  expect(Number(grown)).toBeLessThan(150 * 2 ** 20);
});
