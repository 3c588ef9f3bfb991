import { createHmac, timingSafeEqual } from 'node:crypto';

/** `link`: in the address that opens a preview; `cookie`: what it is exchanged for. */
export type PassKind = 'link' | 'cookie';

/** Seconds each kind is good for. */
export const passSeconds: Record<PassKind, number> = { link: 60, cookie: 8 * 3600 };

/** Query parameter that carries a pass in a link. */
export const linkParameter = 'portico_preview';

/** Who may see what is behind one label. Signed, it travels through the browser. */
export interface PreviewPass {
  /** The only label it opens. */
  label: string;
  /** Id of the actor it was made for, whose rights are looked at again with every request. */
  holder: string;
  /** Milliseconds since 1970. */
  expires: number;
  /** Of a link: its own; of a cookie: that of the link it came from. */
  nonce: string;
}

const macOf = (key: Buffer, kind: PassKind, body: string) =>
  createHmac('sha256', key).update(`${kind}\n${body}`).digest();

/** A pass as text that may stand in a URL and in a cookie. */
export function signPass(key: Buffer, kind: PassKind, { label, holder, expires, nonce }: PreviewPass): string {
  const body = Buffer.from(JSON.stringify([label, holder, expires, nonce])).toString('base64url');
  return `${body}.${macOf(key, kind, body).toString('base64url')}`;
}

/** The pass in a text, which may have expired; null when it was not signed by us as this kind, or is for another label. */
export function openPass(key: Buffer, kind: PassKind, text: string, label: string): PreviewPass | null {
  const [body = '', mac = '', ...rest] = text.split('.');
  const [given, expected] = [Buffer.from(mac, 'base64url'), macOf(key, kind, body)];
  if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  const fields = JSON.parse(Buffer.from(body, 'base64url').toString()) as [string, string, number, string?];
  const [of, holder, expires, nonce] = fields;
  // One without a nonce was signed by a version before this one.
  return of === label && nonce !== undefined ? { label, holder, expires, nonce } : null;
}
