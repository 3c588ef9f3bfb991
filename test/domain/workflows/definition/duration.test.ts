import { expect, it } from 'vitest';
import { parseDuration } from '../../../../src/domain/workflows/definition/duration.ts';
import fc from '../../../support/properties.ts';

it.each([
  ['250ms', 250],
  ['30s', 30_000],
  ['1.5h', 5_400_000],
  ['7d', 604_800_000],
  ['PT1H30M', 5_400_000],
  ['P1DT0.5S', 86_400_500],
  ['P2W', 1_209_600_000],
])('%s is %i ms', (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

it.each(['', '5', 's', '-1s', '1 s', '1y', 'P', 'PT', 'P1', 'P1M', 'P1Y', 'PT1', '1s ', '1e3s', '9999999999s'])(
  '%j is no duration',
  (text) => {
    expect(parseDuration(text)).toBeNull();
  },
);

it('both ways of writing agree', () => {
  fc.assert(
    fc.property(fc.nat(9_999), fc.nat(9_999), fc.nat(9_999), (hours, minutes, seconds) => {
      const apart = [`${hours}h`, `${minutes}m`, `${seconds}s`].map((part) => parseDuration(part) ?? Number.NaN);
      expect(parseDuration(`PT${hours}H${minutes}M${seconds}S`)).toBe(apart.reduce((sum, part) => sum + part));
    }),
  );
});
