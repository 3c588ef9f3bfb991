import { createHash, createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^(ptc|ptr)_[0-9A-Za-z]{30}([0-9A-Za-z]{6})$/;

/** `ptc`: a token of an organisation; `ptr`: one for a single run. */
export type TokenKind = 'ptc' | 'ptr';

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

const secretLength = 30;

// 248 is the largest multiple of 62 in a byte: larger values would favour the first letters.
const letters = (bytes: Uint8Array) =>
  [...bytes]
    .filter((byte) => byte < 248)
    .map((byte) => alphabet.charAt(byte % 62))
    .join('');

/** A token made of what bytes give, at least 30 of them below 248: kind, 30 characters of base62, checksum. */
function tokenOf(kind: TokenKind, bytes: Uint8Array): string {
  const text = `${kind}_${letters(bytes).slice(0, secretLength)}`;
  return `${text}${tokenChecksum(text)}`;
}

/** A new token: `ptc_`, 30 random base62 characters (178 bits), checksum. */
export function generateToken(): string {
  // Of 128 random bytes fewer than 30 are never of use in practice.
  return tokenOf('ptc', randomBytes(128));
}

/** The token of one run: always the same for a secret and a name, so that a message that is sent again carries the same one. */
export function runToken(secret: string, name: string): string {
  const bytes = [0, 1].map((part) => createHmac('sha512', secret).update(`${name}:${part}`).digest());
  return tokenOf('ptr', Buffer.concat(bytes));
}

/** What a text is a token of; null when it can be none. A typing error is found without a query. */
export function tokenKind(text: string): TokenKind | null {
  const match = shape.exec(text);
  return match !== null && tokenChecksum(text.slice(0, -6)) === match[2] ? (match[1] as TokenKind) : null;
}

/** Whether a text can be a token of an organisation. */
export const isTokenText = (text: string): boolean => tokenKind(text) === 'ptc';

/** What is stored of a token: SHA-256, hex. Plain hashing suffices for 178 random bits. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
