import { createHash, randomUUID } from 'node:crypto';

/** The second half of an ETag: 8 hexadecimal digits over everything beside the object that decides what is shown. */
export function viewOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8);
}

/** An ETag of an answer that no version names: what cannot be read now may be there for the next reader. */
export const passingTag = () => `"${randomUUID()}"`;
