import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { generateToken, hashToken, isTokenText } from '../../../src/domain/identity/token-text.ts';
import { checksum62 } from '../../../src/lib/ids.ts';
import fc from '../../support/properties.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const character = fc.constantFrom(...base62);

describe('the text of a token', () => {
  it.each([
    [`ptc_${'0'.repeat(30)}`, '1Q7UKf'],
    ['ptc_abcdefghijklmnopqrstuvwxyz0123', '3PHGXn'],
  ])('%s has checksum %s', (text, checksum) => {
    expect(checksum62(text)).toBe(checksum);
    expect(isTokenText(text + checksum)).toBe(true);
  });

  it('is made well-formed, and never twice', () => {
    const made = Array.from({ length: 1000 }, generateToken);
    for (const token of made) {
      expect(token).toMatch(/^ptc_[0-9A-Za-z]{36}$/);
      expect(isTokenText(token)).toBe(true);
    }
    expect(new Set(made).size).toBe(made.length);
    const used = new Set(made.flatMap((token) => [...token.slice(4, 34)]));
    expect(used.size).toBe(62);
  });

  it('is found wrong after any one typing error', () => {
    fc.assert(
      fc.property(fc.nat(39), character, (at, other) => {
        const token = generateToken();
        const typed = token.slice(0, at) + other + token.slice(at + 1);
        expect(isTokenText(typed)).toBe(typed === token);
      }),
    );
  });

  it('is found wrong after two neighbours changed places', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 38 }), (at) => {
        const token = generateToken();
        const typed = token.slice(0, at) + token.charAt(at + 1) + token.charAt(at) + token.slice(at + 2);
        expect(isTokenText(typed)).toBe(typed === token);
      }),
    );
  });

  it.each([
    '',
    'ptc_',
    ' ',
    'x'.repeat(40),
    `PTC_${'0'.repeat(30)}1Q7UKf`,
    `ptc_${'0'.repeat(30)}1Q7UKf\n`,
    `ptc_${'é'.repeat(30)}1Q7UKf`,
  ])('is none: %j', (text) => {
    expect(isTokenText(text)).toBe(false);
  });

  it('is stored as SHA-256', () => {
    const token = generateToken();
    expect(hashToken(token)).toBe(createHash('sha256').update(token).digest('hex'));
  });
});
