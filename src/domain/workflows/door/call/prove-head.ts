import { type WebhookMethod, webhookMethods } from '../../triggers/trigger.entity.ts';
import type { DoorTrigger } from '../../triggers/trigger-cache.ts';
import { bearerOf, matchSecret, signatureOf, type TriggerSecret } from '../prove.ts';
import type { RefusalReason } from '../refusal-reasons.ts';
import { headerLines } from './header-lines.ts';
import type { WebhookCall } from './webhook-call.ts';

/** What the head of a call proves: all of it, or which signature its body has to have. */
export type HeadProof = { version: number; signature: null } | { version: null; signature: Buffer };

/** Why a call is refused before its body is read. */
export interface HeadRefusal {
  reason: RefusalReason;
  /** Methods that are allowed, when it is for its method in secret mode. */
  allow?: readonly WebhookMethod[];
}

type Head = Pick<WebhookCall, 'method' | 'rawHeaders' | 'query'>;

/** A bearer line and a `token` must both be right when both are there. */
function proveSecret(secrets: readonly TriggerSecret[], { rawHeaders, query }: Head): number | null {
  const lines = headerLines(rawHeaders, 'authorization');
  const tokens = new URLSearchParams(query).getAll('token');
  const [line] = lines;
  if (lines.length > 1 || tokens.length > 1 || (line === undefined && tokens.length === 0)) return null;
  const given: (string | null)[] = [...tokens];
  if (line !== undefined) given.push(bearerOf(line));
  const versions = given.map((credential) => (credential ? matchSecret(secrets, credential) : null));
  return versions.includes(null) ? null : (versions[0] ?? null);
}

/** Checks method and credential of a call against a webhook whose secrets are open. */
export function proveHead(
  { auth_mode, methods }: Pick<DoorTrigger, 'auth_mode' | 'methods'>,
  secrets: readonly TriggerSecret[],
  head: Head,
): HeadProof | HeadRefusal {
  if (secrets.length === 0) return { reason: 'no_secret' };
  if (auth_mode === 'hmac') {
    if (head.method !== 'POST') return { reason: 'method' };
    const [line, ...more] = headerLines(head.rawHeaders, 'x-hub-signature-256');
    const signature = line === undefined || more.length > 0 ? null : signatureOf(line);
    return signature === null ? { reason: 'signature' } : { version: null, signature };
  }
  const allow = methods ?? webhookMethods;
  if (!allow.some((method) => method === head.method)) return { reason: 'method', allow };
  const version = proveSecret(secrets, head);
  return version === null ? { reason: 'credential' } : { version, signature: null };
}
