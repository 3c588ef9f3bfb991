import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { KeyError, type KeyFault, type Kms } from '../../../src/ports/kms.ts';
import fc from '../../support/properties.ts';

/** One key provider under test, with the handles only a test may have. */
export interface KmsUnderTest {
  kms: Kms;
  /** Makes a new key-encryption key the active one; answers its id. */
  rotate(): Promise<string>;
  /** Forbids a key-encryption key all use. */
  disable(kekId: string): Promise<void>;
  /** Takes a key-encryption key away for good. */
  remove(kekId: string): Promise<void>;
}

/** The fault of the KeyError a call rejects with. */
export async function fault(call: Promise<unknown>): Promise<KeyFault> {
  const error = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason,
  );
  if (error instanceof KeyError) return error.fault;
  throw error;
}

/** What every key provider promises; `open` makes a fresh one for each test. */
export function kmsContract(name: string, open: () => Promise<KmsUnderTest>): void {
  const context = 'data-key|1|0b7f6a3e-6f5c-4a57-9a1e-3f5b8f0a2c11|1';
  const key = randomBytes(32);

  describe(`${name}: key provider`, () => {
    it('opens what it wrapped, under the same context', async () => {
      const { kms } = await open();
      const bytes = fc.uint8Array({ minLength: 1, maxLength: 64 });
      await fc.assert(
        fc.asyncProperty(bytes, fc.string({ minLength: 1, maxLength: 80, unit: 'binary' }), async (secret, text) => {
          const { blob } = await kms.wrap(secret, text);
          expect(Buffer.from(await kms.unwrap(blob, text))).toEqual(Buffer.from(secret));
        }),
        { numRuns: 25 },
      );
    });

    it('never wraps to the same bytes, and never to the key itself', async () => {
      const { kms } = await open();
      const [a, b] = [await kms.wrap(key, context), await kms.wrap(key, context)];
      expect(Buffer.from(a.blob).equals(b.blob)).toBe(false);
      expect(Buffer.from(a.blob).includes(key)).toBe(false);
    });

    it('refuses another context', async () => {
      const { kms } = await open();
      const { blob } = await kms.wrap(key, context);
      for (const other of ['', 'data-key|2|0b7f6a3e-6f5c-4a57-9a1e-3f5b8f0a2c11|1', `${context} `]) {
        expect(await fault(kms.unwrap(blob, other))).toBe('not_authentic');
        expect(await fault(kms.rewrap(blob, other))).toBe('not_authentic');
      }
    });

    it('refuses truncated and changed bytes', async () => {
      const { kms } = await open();
      const { blob } = await kms.wrap(key, context);
      for (const length of [0, 1, 20, blob.length - 16, blob.length - 1]) {
        expect(['not_authentic', 'missing_key']).toContain(await fault(kms.unwrap(blob.subarray(0, length), context)));
      }
      const last = Uint8Array.from(blob);
      last[last.length - 1] = (last.at(-1) ?? 0) ^ 1;
      expect(await fault(kms.unwrap(last, context))).toBe('not_authentic');
      expect(await fault(kms.unwrap(Buffer.concat([blob, Buffer.of(0)]), context))).toBe('not_authentic');
    });

    it('wraps under the new key after a rotation and still opens the old', async () => {
      const { kms, rotate } = await open();
      const old = await kms.wrap(key, context);
      const added = await rotate();
      expect(added).not.toBe(old.kek_id);
      expect((await kms.wrap(key, context)).kek_id).toBe(added);
      expect(Buffer.from(await kms.unwrap(old.blob, context))).toEqual(key);
      const { keys } = await kms.describe([old.kek_id]);
      expect(keys.filter((info) => info.state === 'active').map((info) => info.id)).toEqual([added]);
      expect(keys.map((info) => info.id)).toContain(old.kek_id);
    });

    it('moves a key to the active one, without need of the old one afterwards', async () => {
      const { kms, rotate, disable } = await open();
      const old = await kms.wrap(key, context);
      const added = await rotate();
      const moved = await kms.rewrap(old.blob, context);
      expect(moved.kek_id).toBe(added);
      await disable(old.kek_id);
      expect(Buffer.from(await kms.unwrap(moved.blob, context))).toEqual(key);
    });

    it('opens nothing with a disabled key, and says so', async () => {
      const { kms, rotate, disable } = await open();
      const old = await kms.wrap(key, context);
      await rotate();
      await disable(old.kek_id);
      expect(await fault(kms.unwrap(old.blob, context))).toBe('disabled_key');
      expect(await fault(kms.rewrap(old.blob, context))).toBe('disabled_key');
      const { keys } = await kms.describe([old.kek_id]);
      expect(keys.find((info) => info.id === old.kek_id)?.state).toBe('disabled');
    });

    it('misses a key that was taken away', async () => {
      const { kms, rotate, remove } = await open();
      const old = await kms.wrap(key, context);
      await rotate();
      await remove(old.kek_id);
      expect(await fault(kms.unwrap(old.blob, context))).toBe('missing_key');
      expect((await kms.describe([old.kek_id])).keys.map((info) => info.id)).not.toContain(old.kek_id);
    });

    it('is healthy', async () => {
      const { kms } = await open();
      expect(await kms.health()).toEqual({ ok: true });
      expect((await kms.describe()).keys).toHaveLength(1);
    });
  });
}
