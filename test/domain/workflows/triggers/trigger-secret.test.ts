import { expect, it } from 'vitest';
import { newTriggerSecret } from '../../../../src/domain/workflows/triggers/sealed-secret.ts';
import { checksum62 } from '../../../../src/lib/ids.ts';

it.each([
  [`whk_${'0'.repeat(40)}`, '1hDC8p'],
  ['whk_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcd', '3Bq9ZK'],
])('the checksum of %s is %s', (text, checksum) => {
  expect(checksum62(text)).toBe(checksum);
});

it('every secret is another one, of the form that is promised', () => {
  const secrets = Array.from({ length: 200 }, newTriggerSecret);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whk_[0-9A-Za-z]{46}$/);
    expect(checksum62(secret.slice(0, -6))).toBe(secret.slice(-6));
  }
  expect(new Set(secrets).size).toBe(200);
  expect(new Set(secrets.join('').replaceAll('whk_', '')).size).toBe(62);
});
