import { createHash } from 'node:crypto';

/** The second half of an ETag: 8 hexadecimal digits over everything beside the object that decides what is shown. */
export function viewOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8);
}
