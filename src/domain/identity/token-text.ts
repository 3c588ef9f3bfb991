import { createHash, createHmac } from 'node:crypto';
import { checksum62, lettersOf, random62 } from '../../lib/ids.ts';

const shape = /^(ptc|ptr)_[0-9A-Za-z]{30}([0-9A-Za-z]{6})$/;

/** `ptc`: a token of an organisation; `ptr`: one for a single run. */
export type TokenKind = 'ptc' | 'ptr';

const secretLength = 30;

/** Kind, 30 characters of base62, checksum. */
function tokenOf(kind: TokenKind, letters: string): string {
  const text = `${kind}_${letters.slice(0, secretLength)}`;
  return `${text}${checksum62(text)}`;
}

/** A new token: `ptc_`, 30 random base62 characters (178 bits), checksum. */
export function generateToken(): string {
  return tokenOf('ptc', random62(secretLength));
}

/** The token of one run: always the same for a secret and a name, so that a message that is sent again carries the same one. */
export function runToken(secret: string, name: string): string {
  const bytes = [0, 1].map((part) => createHmac('sha512', secret).update(`${name}:${part}`).digest());
  return tokenOf('ptr', lettersOf(Buffer.concat(bytes)));
}

/** What a text is a token of; null when it can be none. A typing error is found without a query. */
export function tokenKind(text: string): TokenKind | null {
  const match = shape.exec(text);
  return match !== null && checksum62(text.slice(0, -6)) === match[2] ? (match[1] as TokenKind) : null;
}

/** Whether a text can be a token of an organisation. */
export const isTokenText = (text: string): boolean => tokenKind(text) === 'ptc';

/** What is stored of a token, a session or a link: SHA-256, hex. Plain hashing suffices for 178 random bits and more. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
