import { describe, expect, it, vi } from 'vitest';
import { bodyValueOf, jsonFaultAt, parseJson } from '../../../../src/domain/workflows/deliveries/delivery-input.ts';
import fc from '../../../support/properties.ts';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const of = (text: string | Uint8Array, type?: string) => bodyValueOf(Buffer.from(text as string), type);

describe('what a body means', () => {
  it.each<[string, string | undefined, string, object]>([
    ['JSON', json, '{"a":[1]}', { body: { a: [1] } }],
    ['JSON of a vendor', 'application/vnd.x+json; charset="UTF-8"', '1', { body: 1 }],
    ['JSON with a BOM', json, '\ufeff{"a":1}', { body: { a: 1 } }],
    ['invalid JSON', json, '{"a":x}', { body: null, body_error: { message: 'is not valid JSON', position: 5 } }],
    ['JSON cut off', json, '{"a"', { body: null, body_error: { message: 'is not valid JSON', position: 4 } }],
    ['a form payload', form, 'payload=%7B%22a%22%3A1%7D', { body: { a: 1 }, body_note: 'form payload' }],
    ['a payload that is no JSON', form, 'payload=x', { body: { payload: 'x' } }],
    ['a form', form, 'a=1&b=2&a=3', { body: { a: ['1', '3'], b: '2' } }],
    ['text', 'text/plain', 'é', { body: 'é' }],
    ['nothing', json, '', { body: null }],
    ['no type', undefined, '{}', { body: null }],
    ['another type', 'multipart/form-data', 'x', { body: null }],
    ['another charset', 'text/plain; charset=utf-16', 'x', { body: null }],
  ])('of %s', (_name, type, text, value) => expect(of(text, type)).toEqual(value));

  it('of bytes that are no UTF-8 is an error', () =>
    expect(of(Buffer.from([0xff]), json)).toEqual({
      body: null,
      body_error: { message: 'is not valid UTF-8', position: null },
    }));

  it('of 200 levels, and not of 201', () => {
    expect(of(nested(200), json).body_error).toBeUndefined();
    expect(of(nested(201), json)).toEqual({
      body: null,
      body_error: { message: 'is nested more than 200 levels deep', position: 200 },
    });
    expect(of(`"${'['.repeat(300)}"`, json).body).toBe('['.repeat(300));
  });

  it('of 200,000 values, and not of 200,001, which no parser reads', () => {
    // The list is a value, too.
    const most = '0,'.repeat(199_998);
    expect(of(`[${most}0]`, json).body).toHaveLength(199_999);
    const parse = vi.spyOn(JSON, 'parse');
    expect(of(`[${most}0,0]`, json)).toEqual({
      body: null,
      body_error: { message: 'has more than 200000 values', position: 399_998 },
    });
    expect(of('[],'.repeat(8_000_000), json).body_error?.message).toBe('has more than 200000 values');
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
    expect(of(`["${'[,'.repeat(200_000)}"]`, json).body).toHaveLength(1);
  });

  it('of a form of 200,000 fields, and not of 200,001', () => {
    const fields = (count: number) => Array(count).fill('a=').join('&');
    expect(of(fields(200_000), form)).toEqual({ body: { a: Array(200_000).fill('') } });
    expect(of(fields(200_001), form).body_error?.message).toBe('has more than 200000 values');
  });

  it('of 100,000 levels is an error and nothing that ends the call', () => {
    expect(of(nested(100_000), json).body_error?.message).toBe('is nested more than 200 levels deep');
  });

  it('of __proto__ keys leaves them out, says so, and touches no prototype', () => {
    const value = of('{"a":[{"__proto__":{"polluted":1},"b":2}]}', json);
    expect(value).toEqual({ body: { a: [{ b: 2 }] }, body_note: '__proto__ keys dropped' });
    expect(of('__proto__=1&a=2', form)).toEqual({ body: { a: '2' }, body_note: '__proto__ keys dropped' });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('where JSON is at fault', () => {
  it.each([
    ['plain', 'x'],
    ['escaped', '\\n'],
  ])('is found behind a %s string of megabytes', (_what, piece) => {
    const text = `["${piece.repeat(8_000_000)}",x]`;
    expect(parseJson(text)).toEqual({ fault: { message: 'is not valid JSON', position: text.length - 2 } });
  });

  it('agrees with the parser on every text', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"\\u00e9"',
      '"\\x"',
      '1',
      '-0.5e3',
      '01',
      'true',
      'nul',
      ' ',
      '"',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.array(pieces).map((all) => all.join('')),
          fc.string(),
        ),
        (text) => {
          const isValid = !('fault' in parseJson(text));
          expect(jsonFaultAt(text) === null).toBe(isValid);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('is where the first wrong character stands', () =>
    fc.assert(
      fc.property(fc.json(), fc.nat(), (text, seed) => {
        const at = seed % text.length;
        // A control character is wrong wherever it stands.
        const broken = `${text.slice(0, at)}\u0001${text.slice(at)}`;
        expect(jsonFaultAt(broken)).toBeLessThanOrEqual(at);
      }),
    ));
});
