import { describe, expect, it, vi } from 'vitest';
import { bodyValueOf, jsonFaultAt, parseJson } from '../../../../src/domain/workflows/deliveries/delivery-input.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';
import fc from '../../../support/properties.ts';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const of = (text: string | Uint8Array, type?: string) => bodyValueOf(Buffer.from(text as string), type);
const parsed = (text: string) => parseJson(Buffer.from(text));

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
    ['a form of broken escapes', form, '😊=%41%zé', { body: { '😊': 'A%zé' } }],
    ['text', 'text/plain', 'é', { body: 'é' }],
    ['nothing', json, '', { body: null }],
    ['no type', undefined, '{}', { body: null }],
    ['another type', 'multipart/form-data', 'x', { body: null }],
    ['another charset', 'text/plain; charset=utf-16', 'x', { body: null }],
  ])('of %s', async (_name, type, text, value) => expect(await of(text, type)).toEqual(value));

  it('of bytes that are no UTF-8 is an error', async () =>
    expect(await of(Buffer.from([0xff]), json)).toEqual({
      body: null,
      body_error: { message: 'is not valid UTF-8', position: null },
    }));

  it('of 200 levels, and not of 201', async () => {
    expect((await of(nested(200), json)).body_error).toBeUndefined();
    expect(await of(nested(201), json)).toEqual({
      body: null,
      body_error: { message: 'is nested more than 200 levels deep', position: 200 },
    });
    expect((await of(`"${'['.repeat(300)}"`, json)).body).toBe('['.repeat(300));
  });

  it('of 200,000 values, and not of 200,001, which no parser reads', async () => {
    // The list is a value, too.
    const most = '0,'.repeat(199_998);
    expect((await of(`[${most}0]`, json)).body).toHaveLength(199_999);
    const parse = vi.spyOn(JSON, 'parse');
    expect(await of(`[${most}0,0]`, json)).toEqual({
      body: null,
      body_error: { message: 'has more than 200000 values', position: 399_998 },
    });
    expect((await of('[],'.repeat(8_000_000), json)).body_error?.message).toBe('has more than 200000 values');
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
    expect((await of(`["${'[,'.repeat(200_000)}"]`, json)).body).toHaveLength(1);
  });

  it('of a form of 200,000 fields, and not of 200,001', async () => {
    const fields = (count: number) => Array(count).fill('a=').join('&');
    expect(await of(fields(200_000), form)).toEqual({ body: { a: Array(200_000).fill('') } });
    expect((await of(fields(200_001), form)).body_error?.message).toBe('has more than 200000 values');
  });

  it('of 100,000 levels is an error and nothing that ends the call', async () => {
    expect((await of(nested(100_000), json)).body_error?.message).toBe('is nested more than 200 levels deep');
  });

  it('of __proto__ keys leaves them out with a note, and touches no prototype', async () => {
    const value = await of('{"a":[{"__proto__":{"polluted":1},"b":2}]}', json);
    expect(value).toEqual({ body: { a: [{ b: 2 }] }, body_note: '__proto__ keys dropped' });
    expect(await of('__proto__=1&a=2', form)).toEqual({ body: { a: '2' }, body_note: '__proto__ keys dropped' });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('a large body', () => {
  it.each([
    ['JSON', json, `["${'x'.repeat(4_000_000)}"${',1'.repeat(100_000)}]`],
    ['a form', form, `payload=%22${'%41'.repeat(1_000_000)}+%22`],
    ['JSON that is at fault', json, `["${'\\n'.repeat(2_000_000)}",x]`],
  ])('of %s is read in steps, between which the process serves others', async (_name, type, text) => {
    expect(await iterationsDuring(() => of(text, type))).toBeGreaterThan(2);
  });

  it('is read after the one before', async () => {
    const order: string[] = [];
    const large = `[${'1,'.repeat(100_000)}1]`;
    const note = (name: string) => () => void order.push(name);
    await Promise.all([
      of(large, json).then(note('first')),
      of(large, json).then(note('second')),
      of('1', json).then(note('small')),
    ]);
    expect(order).toEqual(['small', 'first', 'second']);
  });
});

describe('a form', () => {
  const part = fc.string({
    unit: fc.constantFrom('a', '+', '%41', '%e', '%C3%A9', '%ff', '%', '&', '=', ' '),
  });
  it('is read as the URL standard has it', async () =>
    fc.assert(
      fc.asyncProperty(part, async (text) => {
        const { body } = await of(`x&${text}`, form);
        const all = [...new URLSearchParams(`x&${text}`)];
        const fields = Map.groupBy(all, ([name]) => name);
        const wanted = [...fields].map(([name, found]) => [
          name,
          found.length === 1 ? found[0]?.[1] : found.map(([, value]) => value),
        ]);
        expect(body).toEqual(Object.fromEntries(wanted));
      }),
      { numRuns: 1_000 },
    ));
});

describe('where JSON is at fault', () => {
  it.each([
    ['plain', 'x'],
    ['escaped', '\\n'],
  ])('is found behind a %s string of megabytes', async (_what, piece) => {
    const text = `["${piece.repeat(8_000_000)}",x]`;
    expect(await parsed(text)).toEqual({ fault: { message: 'is not valid JSON', position: text.length - 2 } });
  });

  it('agrees with the parser on every text', async () => {
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
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.json(),
          fc.array(pieces).map((all) => all.join('')),
          fc.string(),
        ),
        async (text) => {
          const isValid = !('fault' in (await parsed(text)));
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
