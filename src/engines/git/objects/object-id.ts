import { createHash } from 'node:crypto';
import type { Oid } from '../../../ports/git-records.ts';

/** The hash a repository names its objects by (`extensions.objectFormat`). */
export type ObjectFormat = 'sha1' | 'sha256';

export type ObjectType = 'blob' | 'tree' | 'commit' | 'tag';

/** Length of a raw object id inside trees, bytes. */
export const rawLength: Record<ObjectFormat, number> = { sha1: 20, sha256: 32 };

const fullOid = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** True for a full, lower-case object id of either format; only such strings may reach git's line protocols. */
export function isOid(text: string): boolean {
  return fullOid.test(text);
}

export function formatOf(oid: Oid): ObjectFormat {
  return oid.length === 64 ? 'sha256' : 'sha1';
}

/** The all-zero id that stands for "no object" in ref updates. */
export function zeroOid(format: ObjectFormat): Oid {
  return '0'.repeat(rawLength[format] * 2);
}

/** The header git hashes and stores in front of the content (gitformat-loose: type, space, decimal size, NUL). */
export function objectHeader(type: ObjectType, size: number): Buffer {
  return Buffer.from(`${type} ${size}\0`, 'latin1');
}

/** The id git gives to this content. */
export function hashObject(format: ObjectFormat, type: ObjectType, content: Buffer): Oid {
  return createHash(format).update(objectHeader(type, content.length)).update(content).digest('hex');
}
