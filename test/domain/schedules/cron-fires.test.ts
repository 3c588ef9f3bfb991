import { Cron } from 'croner';
import { describe, expect, it, vi } from 'vitest';
import { parseCron } from '../../../src/domain/schedules/cron-expression.ts';
import { firesOf, nextFires } from '../../../src/domain/schedules/next-fires.ts';
import { cronExpression } from '../../support/cron/arbitrary.ts';
import { scanMinutes } from '../../support/cron/minute-scan.ts';
import { iterationsDuring } from '../../support/loop-iterations.ts';
import fc from '../../support/properties.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const most = 10;

const occurs = (text: string) => {
  try {
    return parseCron(text);
  } catch (error) {
    if ((error as Error).message === 'never occurs') return null;
    throw error;
  }
};

/** Fires from `from` (included) to `to` (excluded), the first few. */
const found = (text: string, zone: string, from: number, to: number) =>
  [...firesOf(parseCron(text), zone).following(new Date(from - 1), most)]
    .map((fire) => fire.getTime())
    .filter((fire) => fire < to);

const expectSame = (text: string, zone: string, from: number, to: number) => {
  const scan = scanMinutes(text, zone, from, to).slice(0, most);
  const times = (list: number[]) => `${text} | ${list.map((at) => new Date(at).toISOString()).join(' ')}`;
  expect(times(found(text, zone, from, to))).toBe(times(scan));
};

const minuteOf = (from: string, days: number) =>
  fc.integer({ min: 0, max: days * 24 * 60 }).map((at) => Date.parse(from) + at * minute);

describe('against a look at every minute', () => {
  const numRuns = Number(process.env.RUNS ?? 2_000);

  it('fires random expressions at the same minutes', () => {
    let never = 0;
    const check = (text: string, from: number) => {
      const expression = occurs(text);
      if (!expression) {
        never += 1;
        return;
      }
      expectSame(text, 'UTC', from, from + day / 2);
      const next = firesOf(expression, 'UTC').after(new Date(from))?.getTime() ?? Number.NaN;
      expectSame(text, 'UTC', Math.max(from, next - 2 * hour), next + 2 * minute);
    };
    fc.assert(fc.property(cronExpression, minuteOf('2026-01-01T00:00:00Z', 3_000), check), { numRuns });
    expect(never).toBeLessThan(numRuns / 20);
  });

  it('leaves nothing out in a whole year', () => {
    const from = Date.parse('2027-12-15T00:00:00Z');
    const check = (text: string) => {
      if (occurs(text)) expectSame(text, 'UTC', from, from + 366 * day);
    };
    fc.assert(fc.property(cronExpression, check), { numRuns: 15 });
  });

  const changes = [
    ['America/New_York', '2026-03-08T07:00:00Z'],
    ['America/New_York', '2026-11-01T06:00:00Z'],
    ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
    // Clocks of Nepal were set from 5:30 to 5:45 once, and never back.
    ['Asia/Kathmandu', '1985-12-31T18:30:00Z'],
    ['Asia/Kathmandu', '2026-03-29T01:00:00Z'],
    ['Asia/Kathmandu', '2026-10-25T01:00:00Z'],
    // The clock jumps over midnight.
    ['Africa/Cairo', '2026-04-23T22:00:00Z'],
  ] as const;
  it.each(changes)('follows the clocks of %s over %s', (zone, change) => {
    const nearby = fc
      .tuple(
        fc.constantFrom('*', '*/15', '*/7', '0', '30', '45', '15,45', '0-59/20'),
        fc.constantFrom('*', '*/2', '1', '2', '0', '0-3', '1,2', '23', '1-2/1'),
      )
      .map(([minutes, hours]) => `${minutes} ${hours} * * *`);
    const from = Date.parse(change) - 5 * hour;
    const check = (text: string, begin: number) => {
      if (occurs(text)) expectSame(text, zone, from + begin * 15 * minute, from + 11 * hour);
    };
    fc.assert(fc.property(fc.oneof(nearby, cronExpression), fc.integer({ min: 0, max: 24 }), check), { numRuns: 100 });
  });
});

describe('the day rule', () => {
  const days = (text: string, count = 4) =>
    [...firesOf(parseCron(text), 'UTC').following(new Date('2026-02-01T12:00:00Z'), count)].map((at) =>
      at.toISOString().slice(0, 10),
    );

  it.each([
    ['either of two restricted fields', '0 0 13 * 5', ['2026-02-06', '2026-02-13', '2026-02-20', '2026-02-27']],
    [
      'both when the day of month begins with a star',
      '0 0 */10 * 1',
      ['2026-05-11', '2026-06-01', '2026-08-31', '2026-09-21'],
    ],
    [
      'both when the day of week begins with a star',
      '0 0 13 * */5',
      ['2026-02-13', '2026-03-13', '2026-09-13', '2026-11-13'],
    ],
    ['a written-out range is restricted', '0 0 1-31 * 1', ['2026-02-02', '2026-02-03', '2026-02-04', '2026-02-05']],
    [
      'a star in a list counts when it comes first',
      '0 0 *,5 * 1',
      ['2026-02-02', '2026-02-09', '2026-02-16', '2026-02-23'],
    ],
    [
      'a star in a list does not when it comes later',
      '0 0 5,* * 1',
      ['2026-02-02', '2026-02-03', '2026-02-04', '2026-02-05'],
    ],
    ['0 and 7 are Sunday', '0 0 * * 0,7', ['2026-02-08', '2026-02-15', '2026-02-22', '2026-03-01']],
    ['leap days', '0 0 29 2 *', ['2028-02-29', '2032-02-29', '2036-02-29', '2040-02-29']],
  ])('%s', (_rule, text, expected) => {
    expect(days(text)).toEqual(expected);
  });

  it('agrees with another scheduler wherever both day fields are restricted', () => {
    const field = (min: number, max: number) =>
      fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 3 });
    const text = fc.tuple(field(1, 31), field(0, 6)).map(([of, on]) => `7 4 ${of.join(',')} * ${on.join(',')}`);
    const check = (cron: string) => {
      const other = new Cron(cron, { mode: '5-part', timezone: 'UTC', domAndDow: false, paused: true });
      const from = new Date('2026-02-01T12:00:00Z');
      expect([...firesOf(parseCron(cron), 'UTC').following(from, 20)]).toEqual(other.nextRuns(20, from));
    };
    fc.assert(fc.property(text, check), { numRuns: 200 });
  });
});

/** How often a clock of a zone is looked at meanwhile. */
async function looksDuring(work: () => unknown): Promise<number> {
  const looks = vi.spyOn(Intl.DateTimeFormat.prototype as { readonly format: unknown }, 'format', 'get');
  try {
    await work();
    return looks.mock.calls.length;
  } finally {
    looks.mockRestore();
  }
}

describe('times that are always skipped', () => {
  // The clock is set forward over them, on the only day they have in a year.
  it.each([
    ['one', '30 */24 25-31 3 */7', 'Asia/Beirut'],
    ['every minute of an hour', '* */24 2-8 9 */7', 'America/Santiago'],
  ])('are looked for until the calendar has repeated itself, not to the end of time: %s', async (_what, text, zone) => {
    const looks = await looksDuring(() => {
      expect(firesOf(parseCron(text), zone).after(new Date('2026-02-01T12:00:00Z'))).toBeNull();
    });
    expect(looks).toBeGreaterThan(0);
    expect(looks).toBeLessThan(1_000);
  });
});

describe('the next fires', () => {
  const at = (text: string) => new Date(`2026-05-01T${text}Z`);

  it('are not looked for again until the first of them has passed', async () => {
    const timing = { schedule_cron_string: '*/10 5 * * *', timezone: 'Europe/Oslo' };
    const first = await nextFires(timing, at('00:00'), 3);
    expect(first).toEqual([at('03:00'), at('03:10'), at('03:20')]);
    expect(await looksDuring(async () => expect(await nextFires(timing, at('02:59'), 3)).toEqual(first))).toBe(0);
    expect(await looksDuring(async () => expect(await nextFires(timing, at('02:59'), 2)).toHaveLength(2))).toBe(0);
    expect(await nextFires(timing, at('03:00'), 3)).toEqual([at('03:10'), at('03:20'), at('03:30')]);
    expect(await nextFires(timing, at('03:00'), 4)).toHaveLength(4);
    expect((await nextFires(timing, at('00:00'), 1))[0]).toEqual(at('03:00'));
    expect((await nextFires({ ...timing, timezone: 'UTC' }, at('03:00'), 1))[0]).toEqual(at('05:00'));
  });

  it('are not looked for again where none come', async () => {
    const timing = { schedule_cron_string: '*/3 */24 2-8 9 */7', timezone: 'America/Santiago' };
    expect(await nextFires(timing, at('00:00'), 5)).toEqual([]);
    const later = new Date('2027-05-01T00:00Z');
    expect(await looksDuring(async () => expect(await nextFires(timing, later, 5)).toEqual([]))).toBe(0);
  });

  it('let others have their turn while they are looked for', async () => {
    const timing = { schedule_cron_string: '0 */2 * * *', timezone: 'UTC' };
    expect(await iterationsDuring(() => nextFires(timing, at('00:00'), 200))).toBeGreaterThan(3);
  });
});

describe('clocks that are changed', () => {
  const fires = (text: string, zone: string, from: string, count: number) =>
    [...firesOf(parseCron(text), zone).following(new Date(from), count)].map((at) => at.toISOString().slice(0, 16));

  it.each([
    [
      'a skipped time comes when the clock jumps',
      '30 2 * * *',
      'America/New_York',
      '2026-03-07T12:00Z',
      ['2026-03-08T07:00', '2026-03-09T06:30'],
    ],
    [
      'several skipped times come once',
      '*/15 2 * * *',
      'America/New_York',
      '2026-03-08T05:45Z',
      ['2026-03-08T07:00', '2026-03-09T06:00'],
    ],
    [
      'an hourly one goes by the time that passes',
      '30 * * * *',
      'America/New_York',
      '2026-03-08T05:45Z',
      ['2026-03-08T06:30', '2026-03-08T07:30'],
    ],
    [
      'a fixed time comes once',
      '0,30 1 * * *',
      'America/New_York',
      '2026-11-01T04:45Z',
      ['2026-11-01T05:00', '2026-11-01T05:30', '2026-11-02T06:00'],
    ],
    [
      'a star comes at every match',
      '*/30 1 * * *',
      'America/New_York',
      '2026-11-01T04:45Z',
      ['2026-11-01T05:00', '2026-11-01T05:30', '2026-11-01T06:00', '2026-11-01T06:30', '2026-11-02T06:00'],
    ],
    [
      'half an hour is skipped',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-02T20:00Z',
      ['2026-10-03T15:30', '2026-10-04T15:15'],
    ],
    [
      'half an hour is repeated',
      '45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-04T10:00Z',
      ['2026-04-04T14:45', '2026-04-05T15:15'],
    ],
    [
      'quarters of an hour',
      '0 0 * * *',
      'Asia/Kathmandu',
      '2026-03-29T00:00Z',
      ['2026-03-29T18:15', '2026-03-30T18:15'],
    ],
    [
      'a day that is not there',
      '0 12 30 12 *',
      'Pacific/Apia',
      '2011-12-01T00:00Z',
      ['2011-12-30T10:00', '2012-12-29T22:00'],
    ],
  ])('%s', (_case, text, zone, from, expected) => {
    expect(fires(text, zone, from, expected.length)).toEqual(expected);
  });
});

describe('looking back', () => {
  const fires = firesOf(parseCron('*/5 * * * *'), 'UTC');
  const at = (text: string) => new Date(`2026-05-01T${text}Z`);

  it('finds the newest of several that have come, both ends included', () => {
    expect(fires.newest(at('00:05'), at('11:59'))).toEqual(at('11:55'));
    expect(fires.newest(at('00:05'), at('00:05'))).toEqual(at('00:05'));
    expect(fires.newest(at('00:06'), at('00:09'))).toBeNull();
    expect(firesOf(parseCron('0 0 1 1 *'), 'UTC').newest(new Date(0), at('00:00'))).toEqual(new Date('2026-01-01'));
  });

  it('counts those before another one, up to a limit', () => {
    expect(fires.count(at('00:05'), at('00:05'), 100)).toBe(0);
    expect(fires.count(at('00:05'), at('01:05'), 100)).toBe(12);
    expect(fires.count(at('00:05'), at('23:00'), 100)).toBe(100);
  });
});
