import { describe, expect, it } from 'vitest';
import { readNumber } from '../../src/dashboard/lib/typed-number.ts';
import fc from '../support/properties.ts';

const any = { isWhole: false, language: 'en' };
const whole = { isWhole: true, language: 'en' };

describe('a number', () => {
  it.each([
    ['2.5', 2.5],
    [' 7 ', 7],
    ['007', 7],
    ['-3', -3],
    ['−3', -3],
    ['+3', 3],
    ['.5', 0.5],
    ['5.', 5],
    ['0.1000', 0.1],
    ['-0.0', -0],
    ['1e21', 1e21],
    ['1.5E-7', 1.5e-7],
  ])('is read from %s', (text, value) => {
    expect(readNumber(text, any)).toEqual({ value });
  });

  it('has the decimal comma of its language', () => {
    expect(readNumber('2,5', { isWhole: false, language: 'de' })).toEqual({ value: 2.5 });
    expect(readNumber('2.5', { isWhole: false, language: 'de' })).toEqual({ value: 2.5 });
    expect(readNumber('2,5', any)).toEqual({ fault: 'number_fault' });
  });

  it.each(['-', '.', 'e5', '1e', 'abc', '1,234.5', '1 000', '0x10', 'Infinity', 'NaN', '1e99999'])(
    'is not read from %s',
    (text) => {
      expect(readNumber(text, any)).toEqual({ fault: 'number_fault' });
    },
  );

  it.each(['12345678901234567890', '0.1234567890123456789', '1e999', '1e-999', '9007199254740993'])(
    'is refused when it would be changed: %s',
    (text) => {
      expect(readNumber(text, any)).toEqual({ fault: 'number_digits' });
    },
  );

  it('is absent without a text', () => {
    expect(readNumber(' ', any)).toEqual({ value: undefined });
  });

  it('is read from what it is written as', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(readNumber(String(value), any)).toEqual({ value: value === 0 ? 0 : value });
      }),
    );
  });
});

describe('a whole number', () => {
  it.each([
    ['3', 3],
    ['3.0', 3],
    ['1e3', 1000],
    ['-9007199254740991', -9007199254740991],
  ])('is read from %s', (text, value) => {
    expect(readNumber(text, whole)).toEqual({ value });
  });

  it.each(['2.5', '1e-1', 'abc'])('is not read from %s', (text) => {
    expect(readNumber(text, whole)).toEqual({ fault: 'whole_number_fault' });
  });

  it.each(['1e21', '9007199254740992'])('is refused beyond what is exact: %s', (text) => {
    expect(readNumber(text, whole)).toEqual({ fault: 'number_digits' });
  });
});
