import { describe, expect, it } from 'vitest';
import { readDay, readTime, showDay } from '../../src/dashboard/lib/typed-date.ts';

describe('a day', () => {
  it.each([
    ['2026-03-01', 'en', '2026-03-01'],
    ['2026/3/1', 'en', '2026-03-01'],
    [' 1.3.2026 ', 'de', '2026-03-01'],
    ['01/03/2026', 'en', '2026-03-01'],
    ['1 Mar 2026', 'en', '2026-03-01'],
    ['1 march 2026', 'en', '2026-03-01'],
    ['March 1, 2026', 'en', '2026-03-01'],
    ['1. März 2026', 'de', '2026-03-01'],
    ['1. marz 2026', 'de', '2026-03-01'],
    ['3 Okt. 2026', 'de', '2026-10-03'],
    ['29 Feb 2024', 'en', '2024-02-29'],
    ['0099-12-31', 'en', '0099-12-31'],
  ])('is read from %s in %s', (text, language, day) => {
    expect(readDay(text, language)).toBe(day);
  });

  it.each([
    '',
    'today',
    '31 Feb 2026',
    '29 Feb 2026',
    '1.13.2026',
    '0.1.2026',
    '1.3.26',
    '2026-03',
    '1 Ma 2026',
    '1 Foo 2026',
  ])('is not read from "%s"', (text) => {
    expect(readDay(text, 'en')).toBeNull();
  });

  it.each(['en', 'de'])('is read again as it is shown, in %s', (language) => {
    for (let month = 1; month <= 12; month += 1) {
      const day = `2026-${String(month).padStart(2, '0')}-09`;
      expect(readDay(showDay(day, language), language)).toBe(day);
    }
  });

  it('is shown as it is where it is none', () => {
    expect([showDay('', 'en'), showDay('2026-02-31', 'en')]).toEqual(['', '2026-02-31']);
  });
});

describe('a time of day', () => {
  it.each([
    ['9:05', '09:05'],
    ['23:59', '23:59'],
    ['0905', '09:05'],
    ['9.05', '09:05'],
    ['11:30:00', '11:30:00'],
    ['11:30:00.5', '11:30:00.5'],
  ])('is read from %s', (text, time) => {
    expect(readTime(text)).toBe(time);
  });

  it.each(['', '24:00', '12:60', '12:00:60', 'noon', '12', '12:5'])('is not read from "%s"', (text) => {
    expect(readTime(text)).toBeNull();
  });
});
