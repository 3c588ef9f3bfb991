import { createHash, createHmac, type Hmac, timingSafeEqual } from 'node:crypto';
import type { Services } from '../../../kernel/services.ts';
import { isUuid } from '../../../lib/ids.ts';
import type { TriggerSecret } from '../triggers/sealed-secret.ts';
import { type RefusalReason, type WebhookMethod, webhookMethods } from '../triggers/trigger.entity.ts';
import type { TriggerCache, WebhookTrigger } from '../triggers/trigger-cache.ts';
import { Refused, webhookResponses } from './refusals.ts';
import { type ClearSecrets, clearSecretsOf } from './secret-retention.ts';
import { headerLines, type WebhookCall } from './webhook-call.ts';

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest();

/**
 * The version of the secret a text is, in a time that reveals nothing: every secret is compared, each by its digest.
 * @returns null when it is none of them
 */
export function matchSecret(secrets: readonly TriggerSecret[], given: string): number | null {
  const digest = sha256(given);
  let found: number | null = null;
  for (const { version, value } of secrets) if (timingSafeEqual(sha256(value), digest)) found ??= version;
  return found;
}

/** The 32 bytes a signature header names (`sha256=` and 64 hexadecimal digits in either case); null when it has another form. */
export function signatureOf(header: string): Buffer | null {
  const [, digits] = /^sha256=([0-9a-fA-F]{64})$/.exec(header) ?? [];
  return digits === undefined ? null : Buffer.from(digits, 'hex');
}

/** Follows a body as it comes in under every secret; to hash 25 MB in one call would hold everything else up. */
export class BodySignatures {
  readonly #hmacs: { version: number; hmac: Hmac }[];

  constructor(secrets: readonly TriggerSecret[]) {
    this.#hmacs = secrets.map(({ version, value }) => ({ version, hmac: createHmac('sha256', value) }));
  }

  update(chunk: Uint8Array): void {
    for (const { hmac } of this.#hmacs) hmac.update(chunk);
  }

  /** The version of the secret the body was signed with; null for none. To be called once, at the end. */
  match(signature: Buffer): number | null {
    let found: number | null = null;
    for (const { version, hmac } of this.#hmacs) if (timingSafeEqual(hmac.digest(), signature)) found ??= version;
    return found;
  }
}

/** The credential of an `Authorization: Bearer` line (RFC 6750 2.1); null when the line is of another form. */
export function bearerOf(line: string): string | null {
  const [, token] = /^bearer +([^\s]+) *$/i.exec(line.trim()) ?? [];
  return token ?? null;
}

/** What the head of a call proves: all of it, or which signature its body has to have. */
type HeadProof = { version: number; signature: null } | { version: null; signature: Buffer };

/** Why a call is refused before its body is read. */
interface HeadRefusal {
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
function proveHead(
  { auth_mode, methods }: Pick<WebhookTrigger, 'auth_mode' | 'methods'>,
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

/** A call whose head is good: whom it is for, and what it proves or still has to prove. */
export interface OpenedCall extends ClearSecrets {
  trigger: WebhookTrigger;
  proof: HeadProof;
}

/** @throws Refused when no workflow of that name has a webhook */
export async function findTrigger(triggers: TriggerCache, { workflow }: WebhookCall): Promise<WebhookTrigger> {
  const trigger = isUuid(workflow) ? await triggers.get(workflow) : null;
  if (!trigger) throw new Refused(webhookResponses.notConfigured, null);
  return trigger;
}

/**
 * Everything that is known before the body is read.
 * @throws Refused; DomainError `unavailable` when a secret cannot be read
 */
export async function openCall(
  services: Pick<Services, 'secrets' | 'clock'>,
  call: WebhookCall,
  trigger: WebhookTrigger,
): Promise<OpenedCall> {
  if (!trigger.enabled) throw new Refused(webhookResponses.notConfigured, 'disabled');
  const clear = await clearSecretsOf(services, trigger, services.clock.now());
  const proof = proveHead(trigger, clear.secrets, call);
  if ('version' in proof) return { ...clear, trigger, proof };
  throw new Refused(
    proof.allow ? webhookResponses.methodNotAllowed(proof.allow) : webhookResponses.unauthorized,
    proof.reason,
  );
}
