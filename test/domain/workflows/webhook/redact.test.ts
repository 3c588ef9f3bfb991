import { describe, expect, it } from 'vitest';
import { newTriggerSecret } from '../../../../src/domain/workflows/triggers/sealed-secret.ts';
import { dedupKeyOf } from '../../../../src/domain/workflows/webhook/accept.ts';
import { redactHeaders, redactQuery, secretFinder } from '../../../../src/domain/workflows/webhook/secret-retention.ts';
import { joinedHeaders } from '../../../../src/domain/workflows/webhook/webhook-call.ts';
import fc from '../../../support/properties.ts';

const secret = newTriggerSecret();
const holds = secretFinder([secret]);

describe('a value that holds the secret', () => {
  it('is found in every form, wherever it stands', () => {
    const around = fc.string({ maxLength: 8 });
    const forms = fc.constantFrom(
      (before: string, after: string) => `${before}${secret}${after}`,
      (before: string, after: string) => Buffer.from(`${before}${secret}${after}`).toString('base64'),
      (before: string, after: string) => Buffer.from(`${before}${secret}${after}`).toString('base64url'),
      (before: string, after: string) => Buffer.from(`${before}${secret}${after}`).toString('hex'),
      (before: string, after: string) => encodeURIComponent(`${before}${secret}${after}`),
      (_b: string, _a: string) => [...Buffer.from(secret)].map((byte) => `%${byte.toString(16)}`).join(''),
      (_b: string, _a: string) => secret.replace('_', '%5F').replace('w', '%77'),
    );
    fc.assert(
      fc.property(around, around, forms, (before, after, form) => {
        expect(holds(form(before, after))).toBe(true);
      }),
    );
  });

  it('is not found where it is not', () => {
    for (const other of ['', 'whk_', newTriggerSecret(), secret.slice(0, -1), '%', '%zz'])
      expect(holds(other)).toBe(false);
  });
});

describe('what is kept of a call', () => {
  it('are headers without credentials', () => {
    const raw = ['Authorization', 'x', 'X-Hub-Signature', 'x', 'X-Hub-Signature-256', 'x', 'Cookie', 'x'];
    const more = ['X-Gitlab-Token', 'x', 'X-Mine', 'x', 'A', '1', 'a', '2', 'X-Echo', `is ${secret}`];
    expect(redactHeaders(joinedHeaders([...raw, ...more]), ['x-mine'], holds)).toEqual({
      authorization: '[redacted]',
      'x-hub-signature': '[redacted]',
      'x-hub-signature-256': '[redacted]',
      cookie: '[redacted]',
      'x-gitlab-token': '[redacted]',
      'x-mine': '[redacted]',
      a: '1, 2',
      'x-echo': '[redacted]',
    });
  });

  it('is a query without its token', () =>
    expect(redactQuery(`token=a&b=1&b=2&c=${secret}&d=&e=%00x`, holds)).toEqual({
      b: ['1', '2'],
      c: '[redacted]',
      d: '',
      e: 'x',
    }));
});

describe('the key of a delivery', () => {
  const key = (...raw: string[]) => dedupKeyOf(joinedHeaders(raw));

  it('is the first of the known headers', () => {
    expect(key('Idempotency-Key', 'c', 'Webhook-Id', 'b', 'X-GitHub-Delivery', 'a')).toBe('a');
    expect(key('Idempotency-Key', 'c', 'webhook-id', 'b')).toBe('b');
    expect(key('X-Gitlab-Event-UUID', 'd')).toBe('d');
    expect(key('X-Other', 'd')).toBeNull();
  });

  it('has 1 to 200 visible characters of ASCII', () => {
    expect(key('webhook-id', 'x'.repeat(200))).toHaveLength(200);
    for (const text of ['', 'x'.repeat(201), 'a b', 'é', 'a\tb']) expect(key('webhook-id', text)).toBeNull();
    expect(key('webhook-id', 'a', 'webhook-id', 'a')).toBeNull();
    expect(key('X-GitHub-Delivery', 'a b', 'webhook-id', 'b')).toBeNull();
  });
});
