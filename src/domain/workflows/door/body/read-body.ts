import { createHash } from 'node:crypto';
import { headerLines } from '../call/header-lines.ts';
import type { WebhookCall } from '../call/webhook-call.ts';
import { BodySignatures, type TriggerSecret } from '../prove.ts';
import type { BodyMemory } from './body-memory.ts';

/** A body as it came over the wire. */
export interface RawBody {
  chunks: readonly Uint8Array[];
  size: number;
  sha256: string;
  /** Version of the secret it was signed with; null for none, or when nobody asked. */
  signedBy: number | null;
}

export type BodyFault = 'too_large' | 'no_memory' | 'slow' | 'gone';

const announced = (rawHeaders: readonly string[]) => Number(headerLines(rawHeaders, 'content-length')[0] ?? 0);

/** Reads a body within its limits, and follows its signature meanwhile. The account of its memory is the caller's to close. */
export async function readBody(
  call: Pick<WebhookCall, 'rawHeaders' | 'readBody'>,
  limit: number,
  account: ReturnType<BodyMemory['open']>,
  { secrets, signature }: { secrets: readonly TriggerSecret[]; signature: Buffer | null },
): Promise<RawBody | BodyFault> {
  const length = announced(call.rawHeaders);
  if (length > limit) return 'too_large';
  // What is announced is taken at once, so that many large bodies do not come half of the way.
  if (!account.take(length)) return 'no_memory';
  const signatures = signature === null ? null : new BodySignatures(secrets);
  const hash = createHash('sha256');
  const chunks: Uint8Array[] = [];
  let size = 0;
  let fault: BodyFault | null = null;
  const end = await call.readBody((chunk) => {
    const beyond = Math.max(0, size + chunk.length - Math.max(size, length));
    size += chunk.length;
    if (size > limit) fault = 'too_large';
    else if (!account.take(beyond)) fault = 'no_memory';
    if (fault !== null) return false;
    signatures?.update(chunk);
    hash.update(chunk);
    chunks.push(chunk);
    return true;
  });
  if (fault !== null) return fault;
  if (end !== 'whole') return end === 'slow' ? 'slow' : 'gone';
  const signedBy = signatures === null || signature === null ? null : signatures.match(signature);
  return { chunks, size, sha256: hash.digest('hex'), signedBy };
}

/** The same signature asked of a body that is here already: its secrets have changed meanwhile. */
export async function signedBy(
  { chunks }: Pick<RawBody, 'chunks'>,
  secrets: readonly TriggerSecret[],
  signature: Buffer,
): Promise<number | null> {
  const signatures = new BodySignatures(secrets);
  for (const chunk of chunks) {
    signatures.update(chunk);
    // A large body must not hold everything else up.
    if (chunks.length > 64) await new Promise((resolve) => setImmediate(resolve));
  }
  return signatures.match(signature);
}
