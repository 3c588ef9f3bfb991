import { PassThrough, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { type BodySource, JsonMeter, measureValues, readJsonBody as readBody } from '../../src/kernel/json-input.ts';
import fc from '../support/properties.ts';

const json = 'application/json';
/** A request whose body comes in pieces. */
const requestOf = (bytes: Buffer, headers: Record<string, string> = {}): BodySource => {
  const pieces = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) =>
    bytes.subarray(at * 65_536, (at + 1) * 65_536),
  );
  return Object.assign(Readable.from(pieces, { objectMode: false }), { headers });
};
const readJsonBody = (bytes: Buffer, type: string) =>
  readBody(requestOf(bytes, { 'content-type': type }), 20_000_000, 'token:1');

const lists = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const zeros = (values: number) => `[${Array.from({ length: values - 1 }, () => '0').join(',')}]`;

/** Levels and values of a value, counted by going down. */
function counted(value: unknown): { levels: number; values: number } {
  if (value === null || typeof value !== 'object') return { levels: 0, values: 1 };
  const inner = Object.values(value).map(counted);
  return {
    levels: 1 + Math.max(0, ...inner.map(({ levels }) => levels)),
    values: 1 + inner.reduce((sum, { values }) => sum + values, 0),
  };
}

/** Text of a value with space of every kind between its tokens, and all of its strings escaped. */
const spaced = (value: unknown) => JSON.stringify(value, null, '\t').replaceAll('\n', '\r\n ');

describe('JsonMeter', () => {
  it('counts as many levels and values as the parsed text has, however it is cut', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('[', '{"a":[1,2]}', '\\"', '"', ',', ']'));
    const value = fc.jsonValue({ maxDepth: 6, depthSize: 'large' });
    const written = fc.tuple(fc.oneof(value, fc.array(fc.dictionary(text, text))), fc.boolean());
    fc.assert(
      fc.property(written, fc.integer({ min: 1, max: 7 }), ([one, isSpaced], size) => {
        const bytes = Buffer.from(isSpaced ? spaced(one) : JSON.stringify(one));
        const { levels, values } = counted(JSON.parse(bytes.toString()));
        const taken = (limits: { levels: number; values: number }) => {
          const meter = new JsonMeter(limits);
          for (let at = 0; at < bytes.length; at += size) {
            const excess = meter.take(bytes, at, Math.min(at + size, bytes.length));
            if (excess) return excess.over;
          }
          return null;
        };
        expect(taken({ levels, values })).toBeNull();
        if (levels > 0) expect(taken({ levels: levels - 1, values })).toBe('levels');
        expect(taken({ levels, values: values - 1 })).toBe(values === 1 ? null : 'values');
      }),
    );
  });
});

describe('readJsonBody', () => {
  it('joins the pieces of one large body in an iteration of the event loop, however many end in it', async () => {
    let iteration = 0;
    let ticking = true;
    const tick = () => {
      iteration += 1;
      if (ticking) setImmediate(tick);
    };
    tick();
    const joins: number[] = [];
    const concat = Buffer.concat;
    const spy = vi.spyOn(Buffer, 'concat').mockImplementation((pieces, size) => {
      if ((size ?? 0) > 65_536) joins.push(iteration);
      return concat(pieces, size);
    });
    try {
      const requests = Array.from({ length: 4 }, () => {
        const request = Object.assign(new PassThrough({ highWaterMark: 1_000_000 }), { headers: {} });
        return { request, value: readBody(request, 20_000_000, 'token:1') };
      });
      for (const { request } of requests) request.write(Buffer.from(zeros(50_000)));
      for (const { request } of requests) request.end();
      for (const { value } of requests) expect(await value).toHaveLength(49_999);
    } finally {
      ticking = false;
      spy.mockRestore();
    }
    expect(joins).toHaveLength(4);
    expect(new Set(joins).size).toBe(4);
  });

  it.each([
    ['levels', lists(100), lists(101), 'body: is nested more than 100 levels deep; send flatter data'],
    ['values', zeros(100_000), zeros(100_001), 'body: has more than 100000 values; split it into several requests'],
  ])('takes as many %s as are allowed, and refuses one more', async (_what, most, more, message) => {
    expect(await readJsonBody(Buffer.from(most), json)).toEqual(JSON.parse(most));
    await expect(readJsonBody(Buffer.from(more), json)).rejects.toMatchObject({ code: 'invalid_request', message });
  });

  it.each([
    ['a megabyte of brackets', '['.repeat(1_000_000)],
    ['five megabytes of keys', `{${Array.from({ length: 500_000 }, (_, at) => `"k${at}":1`).join(',')}}`],
    ['objects in objects', '{"a":'.repeat(200_000)],
  ])('refuses %s', async (_what, text) => {
    await expect(readJsonBody(Buffer.from(text), json)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('does not count what stands in strings', async () => {
    const text = '[{,]}\\"'.repeat(200_000);
    expect(await readJsonBody(Buffer.from(JSON.stringify([text])), json)).toEqual([text]);
  });

  it.each([
    ['no JSON', '{', 'body: is not valid JSON'],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'body: is not valid UTF-8'],
  ])('refuses %s, short or long', async (_what, start, message) => {
    for (const padding of ['', ' '.repeat(100_000)]) {
      const bytes = Buffer.concat([Buffer.from(start as string), Buffer.from(padding)]);
      await expect(readJsonBody(bytes, json)).rejects.toMatchObject({ code: 'invalid_request', message });
    }
  });

  it('takes a byte order mark, and UTF-8 alone', async () => {
    expect(await readJsonBody(Buffer.from('\ufeff{"a":1}'), `${json}; charset="UTF-8"`)).toEqual({ a: 1 });
    const utf16 = readJsonBody(Buffer.from('{}', 'utf16le'), `${json}; charset=utf-16`);
    await expect(utf16).rejects.toMatchObject({ code: 'unsupported_media' });
  });

  it('keeps nothing of a body that goes too far, and leaves its connection alone', async () => {
    // It never ends.
    const source = new Readable({ read: () => undefined });
    source.push(Buffer.alloc(65_536, '['));
    const request = Object.assign(source, { headers: {} });
    await expect(readBody(request, 100_000_000, 'token:1')).rejects.toMatchObject({ code: 'invalid_request' });
    expect(request.destroyed).toBe(false);
  });

  it.each([
    ['plain', {}],
    ['gzip', { 'content-encoding': 'gzip' }],
  ])('takes a body of as many bytes as allowed, and refuses one more: %s', async (_what, headers: object) => {
    const read = (size: number) => {
      const bytes = Buffer.from(JSON.stringify('x'.repeat(size - 2)));
      return readBody(
        requestOf('content-encoding' in headers ? gzipSync(bytes) : bytes, { ...headers }),
        1_000,
        'token:1',
      );
    };
    expect(await read(1_000)).toHaveLength(998);
    await expect(read(1_001)).rejects.toMatchObject({ code: 'too_large', message: 'body: must be at most 1000 bytes' });
  });

  it.each([
    ['gzip', 'invalid_request'],
    ['br', 'invalid_request'],
    ['deflate', 'invalid_request'],
    ['compress', 'unsupported_media'],
  ])('refuses what is no %s', async (coding, code) => {
    const request = requestOf(Buffer.from('{"a":1}'), { 'content-encoding': coding });
    await expect(readBody(request, 1_000, 'token:1')).rejects.toMatchObject({ code });
  });

  it('reads large bodies one after another, and lets the process go on between', async () => {
    const text = JSON.stringify('x'.repeat(3_000_000));
    let turns = 0;
    let over = false;
    const turn = () => {
      turns += 1;
      if (!over) setImmediate(turn);
    };
    setImmediate(turn);
    const order: number[] = [];
    await Promise.all([1, 2, 3].map(async (at) => readJsonBody(Buffer.from(text), json).then(() => order.push(at))));
    over = true;
    expect(order).toEqual([1, 2, 3]);
    // Each is checked, decoded and parsed.
    expect(turns).toBeGreaterThanOrEqual(9);
  });

  it.each([
    ['token:1', 128, 'token:2'],
    [null, 64, 'token:2'],
  ])(
    'refuses a large body when others of %s hold %d MiB, until these are whole, refused or cut off',
    async (sender, most, other) => {
      const mebibyte = Buffer.alloc(1024 * 1024, ' ');
      const begin = (by: string | null, mebibytes: number) => {
        const request = Object.assign(new PassThrough({ highWaterMark: 1 }), { headers: {} });
        const value = readBody(request, 200 * 1024 * 1024, by);
        for (let left = mebibytes; left > 0; left -= 1) request.write(mebibyte);
        return { request, value };
      };
      const ends: ((begun: ReturnType<typeof begin>) => Promise<unknown>)[] = [
        ({ request, value }) => {
          request.end('1');
          return expect(value).resolves.toBe(1);
        },
        ({ request, value }) => {
          request.end('nothing');
          return expect(value).rejects.toMatchObject({ code: 'invalid_request' });
        },
        ({ request, value }) => {
          request.emit('aborted');
          return expect(value).rejects.toMatchObject({ code: 'invalid_request' });
        },
      ];
      for (const end of ends) {
        const first = begin(sender, most - 2);
        const second = begin(sender, 1);
        const third = begin(sender, 2);
        await expect(third.value).rejects.toMatchObject({ code: 'unavailable' });
        const small = begin(sender, 0);
        small.request.end('2');
        expect(await small.value).toBe(2);
        const foreign = begin(other, 1);
        foreign.request.end('3');
        expect(await foreign.value).toBe(3);
        await end(first);
        await end(second);
      }
    },
  );

  it('reads the next one after one that is refused', async () => {
    const refused = readJsonBody(Buffer.from(lists(50_000)), json);
    const taken = readJsonBody(Buffer.from(zeros(90_000)), json);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await taken).toHaveLength(89_999);
  });
});

describe('measureValues', () => {
  const check = (input: object) => measureValues(input, (name) => name === 'known');
  const holding = (text: string) => ({ known: JSON.parse(text) });

  it.each([
    ['levels', lists(99), lists(100), 'known: is nested more than 100 levels deep; send flatter data'],
    ['values', zeros(100_000), zeros(100_001), 'known: has more than 100000 values; split it into several requests'],
  ])('takes as many %s as are allowed, and refuses one more', (_what, most, more, message) => {
    expect(() => check(holding(most))).not.toThrow();
    expect(() => check(holding(more))).toThrow(message);
  });

  it('looks at nothing below names that are not known', () => {
    expect(() => check({ other: JSON.parse(lists(5_000)), known: 1 })).not.toThrow();
  });

  it('takes bytes and dates for one value each', () => {
    expect(() => check({ known: [Buffer.alloc(200_000), new Date(), new Map()] })).not.toThrow();
  });

  it('goes through any depth without calls that could run out', () => {
    let value: unknown = 1;
    for (let level = 0; level < 200_000; level += 1) value = [value];
    expect(() => check({ known: value })).toThrow('levels deep');
  });

  it('says how many values there are, and whether a key is __proto__, below the known names only', () => {
    expect(check(holding('[{"a": [1, 2]}, "b"]'))).toEqual({ values: 6, hasProto: false });
    expect(check(holding('[{"a": {"__proto__": 1}}]'))).toEqual({ values: 4, hasProto: true });
    expect(check({ ...JSON.parse('{"other": {"__proto__": 1}}'), known: 1 }).hasProto).toBe(false);
  });
});
