import type { BlobStore } from '../../../ports/blobs.ts';
import { headerLines } from '../call/header-lines.ts';
import type { WebhookCall } from '../call/webhook-call.ts';
import { BodySignatures, type TriggerSecret } from '../prove.ts';
import type { BodyMemory } from './body-memory.ts';
import { RawBody } from './raw-body.ts';

/** What was read, and the version of the secret it was signed with; null for none, or when nobody asked. */
interface ReadBody {
  body: RawBody;
  signedBy: number | null;
}

export type BodyFault = 'too_large' | 'no_memory' | 'slow' | 'gone';

const announced = (rawHeaders: readonly string[]) => Number(headerLines(rawHeaders, 'content-length')[0] ?? 0);

/** What reading a body needs: its limits, where it is kept when it is large, and the secrets it may be signed with. */
interface Reading {
  /** Bytes. */
  limit: number;
  /** Of the memory it takes; the caller's to close. */
  account: ReturnType<BodyMemory['open']>;
  blobs: Pick<BlobStore, 'put' | 'read'>;
  secrets: readonly TriggerSecret[];
  signature: Buffer | null;
}

/** Reads a body within its limits, and follows its signature meanwhile. Whoever gets it drops what he does not keep. */
export async function readBody(
  call: Pick<WebhookCall, 'rawHeaders' | 'readBody'>,
  { limit, account, blobs, secrets, signature }: Reading,
): Promise<ReadBody | BodyFault> {
  const length = announced(call.rawHeaders);
  if (length > limit) return 'too_large';
  // What is announced is taken at once, so that many large bodies do not come half of the way.
  if (!account.take(length)) return 'no_memory';
  const signatures = signature === null ? null : new BodySignatures(secrets);
  const body = new RawBody(blobs);
  let fault: BodyFault | null = null;
  const end = await call.readBody((chunk) => {
    const size = body.size + chunk.length;
    if (size > limit) fault = 'too_large';
    else if (!account.take(Math.max(0, size - Math.max(body.size, length)))) fault = 'no_memory';
    if (fault !== null) return false;
    signatures?.update(chunk);
    return body.add(chunk)?.then(() => true) ?? true;
  });
  if (end !== 'whole') fault ??= end === 'slow' ? 'slow' : 'gone';
  if (fault !== null) {
    body.drop();
    return fault;
  }
  return { body, signedBy: signatures === null || signature === null ? null : signatures.match(signature) };
}

/** The same signature asked of a body that is here already: its secrets have changed meanwhile. */
export async function signedBy(
  body: Pick<RawBody, 'read'>,
  secrets: readonly TriggerSecret[],
  signature: Buffer,
): Promise<number | null> {
  const signatures = new BodySignatures(secrets);
  for await (const piece of body.read()) signatures.update(piece);
  return signatures.match(signature);
}
