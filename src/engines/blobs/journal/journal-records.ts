import { createHash } from 'node:crypto';
import { fstatSync, readSync } from 'node:fs';
import type { Sha256 } from '../../../domain/ports/blobs.ts';

/** One content in a journal of blobs. */
export interface JournalRecord {
  sha256: Sha256;
  content: Uint8Array;
}

const hashBytes = 32;
const headBytes = hashBytes + 4;

/** A record as it is written: 32 bytes of SHA-256, 4 of size in network order, the content. */
export function encodeRecord({ sha256, content }: JournalRecord): Uint8Array[] {
  const head = Buffer.alloc(headBytes);
  head.write(sha256, 'hex');
  head.writeUInt32BE(content.length, hashBytes);
  return [head, content];
}

/** The names alone, of a journal that is open. */
export function* namesIn(file: number): Generator<Sha256> {
  const { size } = fstatSync(file);
  const head = Buffer.alloc(headBytes);
  for (let at = 0; at + headBytes <= size; ) {
    readSync(file, head, 0, headBytes, at);
    at += headBytes + head.readUInt32BE(hashBytes);
    if (at > size) return;
    yield head.toString('hex', 0, hashBytes);
  }
}

/** The records of a journal in their order, unchecked, up to one that was cut short. */
export function* recordsOf(journal: Buffer): Generator<JournalRecord> {
  for (let at = 0; at + headBytes <= journal.length; ) {
    const from = at + headBytes;
    const end = from + journal.readUInt32BE(at + hashBytes);
    if (end > journal.length) return;
    yield { sha256: journal.toString('hex', at, at + hashBytes), content: journal.subarray(from, end) };
    at = end;
  }
}

/** Whether a content is what its name says: a loss of power may leave anything in a record nobody was told of. */
export const isWhole = ({ sha256, content }: JournalRecord): boolean =>
  createHash('sha256').update(content).digest('hex') === sha256;
