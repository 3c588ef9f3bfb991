import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { associatedData, parseEnvelope, type SecretPlace, seal, unseal } from '../../../src/domain/keys/secrets.ts';
import fc from '../../support/properties.ts';

const key = randomBytes(32);
const id = randomUUID();
const place: SecretPlace = { purpose: 'workflow.trigger', organization_id: 7, record: 12, version: 3 };

function open(text: string, at: SecretPlace = place, with_ = key): string | null {
  const envelope = parseEnvelope(text);
  return envelope === null ? null : unseal(with_, envelope, at);
}

describe('envelope', () => {
  it('binds the place in the documented form', () => {
    expect(associatedData(place)).toBe('workflow.trigger|7|12|3');
    expect(() => associatedData({ ...place, record: '1|2' })).toThrow('must not contain "|"');
  });

  it('opens what it sealed', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => open(seal(key, id, place, text)) === text));
  });

  it('has the documented form', () => {
    const [version, keyId, nonce = '', sealed = '', ...more] = seal(key, id, place, 'abc').split('.');
    expect([version, keyId, more]).toEqual(['v1', id, []]);
    expect(Buffer.from(nonce, 'base64url')).toHaveLength(12);
    expect(Buffer.from(sealed, 'base64url')).toHaveLength(3 + 16);
  });

  it('does not open in any other place or with another key', () => {
    const text = seal(key, id, place, 'secret');
    const others: SecretPlace[] = [
      { ...place, purpose: 'workflow.secret' },
      { ...place, organization_id: 8 },
      { ...place, record: 13 },
      { ...place, version: 4 },
    ];
    for (const other of others) expect(() => open(text, other)).toThrow();
    expect(() => open(text, place, randomBytes(32))).toThrow();
  });

  it('does not open when a single character was changed, removed or added', () => {
    const text = seal(key, id, place, 'secret');
    const start = text.indexOf('.', 4) + 1;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const refuses = (changed: string) => {
      let opened: string | null = null;
      try {
        opened = open(changed);
      } catch {
        return true;
      }
      return opened === null;
    };
    const at = fc.integer({ min: start, max: text.length - 1 });
    fc.assert(
      fc.property(at, fc.constantFrom(...alphabet), (index, char) => {
        if (text[index] === '.' || text[index] === char) return true;
        return refuses(text.slice(0, index) + char + text.slice(index + 1));
      }),
    );
    for (let cut = 1; cut < 24; cut++) expect(refuses(text.slice(0, -cut))).toBe(true);
    expect(refuses(`${text}A`)).toBe(true);
    expect(refuses(`${text}=`)).toBe(true);
    expect(refuses(text.replace('v1', 'v2'))).toBe(true);
  });
});
