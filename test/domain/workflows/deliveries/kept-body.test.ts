import { randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { packBody, unpackBody } from '../../../../src/domain/workflows/deliveries/kept-body.ts';
import fc from '../../../support/properties.ts';

it('a body comes back as it was, whatever it is', () => {
  const text = fc.string({ maxLength: 9_000, size: 'max' }).map((value) => Buffer.from(value.repeat(2)));
  const bytes = fc.uint8Array({ maxLength: 5_000, size: 'max' }).map((value) => Buffer.from(value));
  const frame = text.map((value) => zstdCompressSync(value));
  fc.assert(
    fc.property(fc.oneof(text, bytes, frame), (body) => {
      const kept = packBody(body);
      expect(kept.length).toBeLessThanOrEqual(body.length);
      expect(unpackBody(kept, body.length).equals(body)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

it('is kept smaller when that is possible', () => {
  const json = Buffer.from(JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id, name: `entry ${id}` }))));
  expect(packBody(json).length).toBeLessThan(json.length / 3);
  const noise = randomBytes(10_000);
  expect(packBody(noise)).toBe(noise);
});

it('one that is broken is not taken for another', () => {
  const body = Buffer.alloc(10_000, 'abc');
  const kept = packBody(body);
  expect(() => unpackBody(kept.subarray(0, -3), body.length)).toThrow();
  expect(() => unpackBody(kept, body.length - 1)).toThrow();
  expect(() => unpackBody(kept, body.length + 1)).toThrow();
});
