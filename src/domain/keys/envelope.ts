import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** What kinds of secrets are stored; a ciphertext moved from one to another does not open. */
export type SecretPurpose =
  | 'workflow.trigger'
  | 'workflow.secret'
  | 'crawler.headers'
  | 'crawler.cookies'
  | 'crawler.webhook_auth'
  | 'crawler.webhook_secret'
  | 'environment.variable'
  | 'deploy.hook'
  | 'upstream.git'
  | 'assistant.key'
  | 'oidc.client';

/** The place a ciphertext belongs to. `version` counts the values the record has had. */
export interface SecretPlace {
  purpose: SecretPurpose;
  organization_id: number;
  record: string | number;
  version: number;
}

/** A ciphertext taken apart. */
export interface Envelope {
  data_key_id: string;
  nonce: Buffer;
  ciphertext: Buffer;
  tag: Buffer;
}

const algorithm = 'aes-256-gcm';
const tagBytes = 16;

/** `purpose|organisation|record|version`: GCM authenticates it, so a row copied elsewhere does not open. */
export function associatedData({ purpose, organization_id, record, version }: SecretPlace): string {
  // A bar in the record would let two places share one text.
  if (String(record).includes('|')) throw new Error('the record of a secret must not contain "|"');
  return `${purpose}|${organization_id}|${record}|${version}`;
}

/** Encrypts to `v1.<data key id>.<nonce>.<ciphertext + tag>`, the last two in base64url; a fresh random nonce each time. */
export function seal(dataKey: Uint8Array, dataKeyId: string, place: SecretPlace, plaintext: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(algorithm, dataKey, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(associatedData(place)));
  const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `v1.${dataKeyId}.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
}

/** Takes a ciphertext apart; null when it has not exactly the form `seal` writes. */
export function parseEnvelope(text: string): Envelope | null {
  const parts = /^v1\.([0-9a-f-]{36})\.([\w-]{16})\.([\w-]+)$/.exec(text);
  const [, id = '', nonceText = '', sealedText = ''] = parts ?? [];
  const nonce = Buffer.from(nonceText, 'base64url');
  const sealed = Buffer.from(sealedText, 'base64url');
  // Unused bits of the last character would give one secret many spellings.
  if (parts === null || sealed.length < tagBytes || sealed.toString('base64url') !== sealedText) return null;
  const end = sealed.length - tagBytes;
  return { data_key_id: id, nonce, ciphertext: sealed.subarray(0, end), tag: sealed.subarray(end) };
}

/** The plaintext; throws when key, place or a single bit differ. */
export function unseal(dataKey: Uint8Array, { nonce, ciphertext, tag }: Envelope, place: SecretPlace): string {
  const decipher = createDecipheriv(algorithm, dataKey, nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(associatedData(place)));
  decipher.setAuthTag(tag);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
}
