import { randomBytes, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** A UUID version 7 (RFC 9562 5.7): milliseconds since 1970 first, so ids sort by time. Node keeps random bytes for UUIDs ready. */
export function uuid7(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** Digits of base62. */
export const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Whether a text is a UUID as ids are written, in lower case; what is not cannot be the id of any row. */
export const isUuid = (text: string): boolean => uuidForm.test(text);

/** CRC-32 (IEEE) of a text in base62, left-padded to six: distinguishes a typing error from an unknown secret. */
export function checksum62(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i++) {
    digits = alphabet.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** What bytes give in base62, one character each; those of 248 and above give none, since they would favour the first letters. */
export const lettersOf = (bytes: Uint8Array): string =>
  [...bytes]
    .filter((byte) => byte < 248)
    .map((byte) => alphabet.charAt(byte % 62))
    .join('');

/** So many random characters of base62, 5.95 bits each. */
export function random62(length: number): string {
  let text = '';
  while (text.length < length) text += lettersOf(randomBytes(2 * length));
  return text.slice(0, length);
}
