import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^ptc_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

/** Checksum of a token: CRC-32 (IEEE) of the text before it, in base62, left-padded to six. */
export function tokenChecksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i++) {
    digits = alphabet.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** A new token: `ptc_`, 30 random base62 characters (178 bits), checksum. */
export function generateToken(): string {
  let secret = '';
  while (secret.length < 30) {
    // 248 is the largest multiple of 62 in a byte: larger values would favour the first letters.
    for (const byte of randomBytes(40)) if (byte < 248 && secret.length < 30) secret += alphabet.charAt(byte % 62);
  }
  return `ptc_${secret}${tokenChecksum(`ptc_${secret}`)}`;
}

/** Whether a text can be a token at all; a typing error is found without a query. */
export function isTokenText(text: string): boolean {
  const match = shape.exec(text);
  return match !== null && tokenChecksum(text.slice(0, -6)) === match[2];
}

/** What is stored of a token: SHA-256, hex. Plain hashing suffices for 178 random bits. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
