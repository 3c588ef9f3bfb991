import { createHash, createHmac, type Hmac, timingSafeEqual } from 'node:crypto';

/** A secret that opens a trigger now: the current one, or the one before within its grace. */
export interface TriggerSecret {
  version: number;
  value: string;
}

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest();

/**
 * The version of the secret a text is, in a time that tells nothing: every secret is compared, each by its digest.
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
