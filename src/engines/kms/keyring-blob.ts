import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** A key wrapped by the local keyring: format byte 1, length and ASCII bytes of the KEK's id, nonce, ciphertext, tag. */
export interface KeyringBlob {
  kek_id: string;
  header: Uint8Array;
  nonce: Uint8Array;
  ciphertext: Uint8Array;
  tag: Uint8Array;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** Wraps `key` with AES-256-GCM; header and context are authenticated (NIST SP 800-38D). */
export function sealBlob(kek: Uint8Array, kekId: string, key: Uint8Array, context: string): Uint8Array {
  const id = Buffer.from(kekId, 'ascii');
  const header = Buffer.concat([Buffer.of(1, id.length), id]);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, kek, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.concat([header, Buffer.from(context)]));
  return Buffer.concat([header, nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]);
}

/** Takes a blob apart; null when it cannot be one of ours. */
export function parseBlob(blob: Uint8Array): KeyringBlob | null {
  const headerBytes = 2 + (blob[1] ?? 0);
  if (blob[0] !== 1 || headerBytes === 2 || blob.length <= headerBytes + nonceBytes + tagBytes) return null;
  return {
    kek_id: Buffer.from(blob.subarray(2, headerBytes)).toString('ascii'),
    header: blob.subarray(0, headerBytes),
    nonce: blob.subarray(headerBytes, headerBytes + nonceBytes),
    ciphertext: blob.subarray(headerBytes + nonceBytes, blob.length - tagBytes),
    tag: blob.subarray(blob.length - tagBytes),
  };
}

/** The wrapped key; throws when KEK, context or a single bit differ. */
export function openBlob(
  kek: Uint8Array,
  { header, nonce, ciphertext, tag }: KeyringBlob,
  context: string,
): Uint8Array {
  const decipher = createDecipheriv(algorithm, kek, nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.concat([header, Buffer.from(context)]));
  decipher.setAuthTag(tag);
  const key = decipher.update(ciphertext);
  decipher.final();
  return key;
}
