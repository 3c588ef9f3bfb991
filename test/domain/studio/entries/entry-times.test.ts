import { describe, expect, it } from 'vitest';
import { asTime, isTimeField, type KnownEntry, matches } from '../../../../src/domain/studio/entries/entry-query.ts';
import { sortEntries } from '../../../../src/domain/studio/entries/entry-selection.ts';
import { timeOf } from '../../../../src/domain/studio/schema/dates.ts';
import type { SchemaField } from '../../../../src/domain/studio/schema/schema.schema.ts';
import fc from '../../../support/properties.ts';

const pad = (value: number, width = 2) => String(value).padStart(width, '0');
const day = (date: Date) => `${pad(date.getUTCFullYear(), 4)}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
const clock = (date: Date) => `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;

/** One instant, to the second, in a form and zone that content may have it in. */
const written = fc
  .record({
    at: fc.integer({ min: -60_000_000_000, max: 60_000_000_000 }).map((tenth) => Math.trunc(tenth / 1000) * 1000),
    zone: fc.integer({ min: -14 * 4, max: 14 * 4 }).map((quarters) => quarters * 15),
    separator: fc.constantFrom('T', 't', ' ', '  '),
    form: fc.constantFrom('zulu', 'bare', 'offset', 'short', 'fraction'),
  })
  .map(({ at, zone, separator, form }) => {
    const date = new Date(at);
    const local = new Date(at + zone * 60_000);
    const sign = zone < 0 ? '-' : '+';
    const [hours, minutes] = [pad(Math.floor(Math.abs(zone) / 60)), pad(Math.abs(zone) % 60)];
    const texts = {
      zulu: `${day(date)}${separator}${clock(date)}Z`,
      bare: `${day(date)}${separator}${clock(date)}`,
      offset: `${day(local)}${separator}${clock(local)}${sign}${hours}:${minutes}`,
      short: `${day(local)}${separator}${clock(local)}${sign}${hours}${minutes}`,
      fraction: `${day(date)}${separator}${clock(date)}.000000Z`,
    };
    return { at, text: texts[form as keyof typeof texts] };
  });

const known = (date: unknown, at: number): KnownEntry => ({
  entry: { slug: `s${pad(at, 4)}`, path: `${at}.md`, oid: '' },
  facts: { frontmatter: { date }, title: '', draft: false, size: 0 },
});

describe('timeOf', () => {
  it.each([
    ['2024-05-31', '2024-05-31T00:00:00Z'],
    ['2024-5-1', '2024-05-01T00:00:00Z'],
    ['2024', '2024-01-01T00:00:00Z'],
    ['2024-05', '2024-05-01T00:00:00Z'],
    ['2024-05-31 10:00', '2024-05-31T10:00:00Z'],
    ['2024-05-31T01:00:00+02:00', '2024-05-30T23:00:00Z'],
    ['2024-05-31T10:00:00-0530', '2024-05-31T15:30:00Z'],
    ['2024-05-31 10:00:00 -5', '2024-05-31T15:00:00Z'],
    ['Jul 08 2022', '2022-07-08T00:00:00Z'],
    ['July 8, 2022', '2022-07-08T00:00:00Z'],
    ['8 July 2022', '2022-07-08T00:00:00Z'],
    ['Fri, 08 Jul 2022 10:00:00 +0200', '2022-07-08T08:00:00Z'],
  ])('reads %s as %s, in any time zone of the server', (text, instant) => {
    expect(timeOf(text)).toBe(Date.parse(instant));
  });

  it.each(['', 'soon', 'version 5', '2024-02-30', '2024-13', '12:30', 'Chapter 12 2024x', '20240531'])(
    'takes %j for no time',
    (text) => {
      expect(timeOf(text)).toBeNull();
    },
  );
});

describe('fields of dates', () => {
  it('are ordered as instants whatever their form, other texts after them, absent ones last', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            { weight: 5, arbitrary: written },
            fc.constantFrom({ at: NaN, text: 'soon' }, { at: NaN, text: null }),
          ),
          { maxLength: 12 },
        ),
        fc.boolean(),
        async (dates, descending) => {
          const entries = dates.map(({ text }, at) => known(text, at));
          const sorted = await sortEntries(entries, [{ field: 'date', descending, isTime: true }]);
          const shown = sorted.map((entry) => dates[entries.indexOf(entry)]);
          const instants = shown.map((one) => one?.at ?? NaN).filter((at) => !Number.isNaN(at));
          expect(instants).toEqual(instants.toSorted((a, b) => (descending ? b - a : a - b)));
          const kinds = shown.map((one) => (one?.text === null ? 2 : one?.text === 'soon' ? 1 : 0));
          if (descending)
            expect(kinds.indexOf(2) === -1 || kinds.slice(kinds.indexOf(2)).every((kind) => kind === 2)).toBe(true);
          else expect(kinds).toEqual(kinds.toSorted());
        },
      ),
      { numRuns: 500 },
    );
  });

  it('are compared as instants by every operator', () => {
    fc.assert(
      fc.property(written, written, (one, other) => {
        const test = (operator: 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'nin') =>
          matches(known(one.text, 0), [
            {
              field: 'date',
              operator,
              value: asTime(['in', 'nin'].includes(operator) ? [other.text] : other.text),
              isTime: true,
            },
          ]);
        expect([test('eq'), test('ne'), test('in'), test('nin')]).toEqual([
          one.at === other.at,
          one.at !== other.at,
          one.at === other.at,
          one.at !== other.at,
        ]);
        expect([test('lt'), test('lte'), test('gt'), test('gte')]).toEqual([
          one.at < other.at,
          one.at <= other.at,
          one.at > other.at,
          one.at >= other.at,
        ]);
      }),
      { numRuns: 500 },
    );
  });

  it('are known by the schema, inside objects and among variants', () => {
    const field = (name: string, more: Partial<SchemaField>): SchemaField => ({
      name,
      type: 'any',
      required: false,
      list: false,
      ...more,
    });
    const fields = [
      field('date', { type: 'date' }),
      field('at', { variants: [field('', { type: 'string' }), field('', { type: 'datetime' })] }),
      field('event', {
        type: 'object',
        fields: [field('start', { type: 'datetime', list: true }), field('title', { type: 'string' })],
      }),
    ];
    const found = ['date', 'at', 'event.start', 'event.title', 'event', 'date.x', 'title', '__proto__', 'constructor'];
    expect(found.filter((name) => isTimeField(fields, name))).toEqual(['date', 'at', 'event.start']);
  });
});
