import { DomainError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';

const mebibyte = 1024 * 1024;

/** Bytes of an output as JSON that a row holds; a larger one goes to the blob store. */
export const mostInRow = mebibyte;
/** Bytes of the largest output there may be. */
export const largestOutput = 25 * mebibyte;

/** A value as it is kept: JSON text, or the blob that holds it. */
export type StoredValue =
  | { text: string | null; sha256: null; size: number }
  | { text: null; sha256: string; size: number };

/** @throws DomainError `too_large` over 25 MiB */
export async function storeValue(blobs: BlobStore, value: unknown): Promise<StoredValue> {
  if (value === null || value === undefined) return { text: null, sha256: null, size: 4 };
  const text = JSON.stringify(value);
  // A text has at least as many bytes as UTF-16 units, and at most three times as many.
  const size = text.length * 3 <= mostInRow ? text.length : Buffer.byteLength(text);
  if (size > largestOutput)
    throw new DomainError('too_large', `The output has ${size} bytes; at most ${largestOutput} are kept`);
  if (size <= mostInRow) return { text, sha256: null, size };
  return { text: null, sha256: (await blobs.put(Buffer.from(text))).sha256, size };
}

/** The value that was stored. */
export async function readValue(blobs: BlobStore, value: unknown, sha256: string | null): Promise<unknown> {
  if (sha256 === null) return value ?? null;
  const parts: Buffer[] = [];
  for await (const part of blobs.read(sha256)) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString('utf8'));
}
