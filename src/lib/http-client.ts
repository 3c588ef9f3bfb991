import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getCACertificates } from 'node:tls';

const require = createRequire(import.meta.url);

/** The library below outgoing requests, loaded with the first of them: a start sends none, and would read a hundred files for it. */
export const undici = () => require('undici') as typeof import('undici');

/**
 * Certificates that servers are trusted by, as PEM: those of node and of the environment, and those of `caFile` (`PORTICO_CA_FILE`).
 * @throws Error when the file cannot be read
 */
export const trustedCertificates = (caFile: string | undefined): string[] => [
  ...getCACertificates('default'),
  ...(caFile === undefined ? [] : [readFileSync(caFile, 'utf8')]),
];

/**
 * How long an answer asks to wait: `Retry-After` (RFC 9110 10.2.3) in seconds or as a date; of several the first.
 * @returns milliseconds from `now`, not negative; null for a header that is absent or says neither
 */
export function retryAfter(value: string | readonly string[] | null | undefined, now: Date): number | null {
  const text = (typeof value === 'string' ? value : value?.[0])?.trim();
  if (text === undefined) return null;
  if (/^\d{1,12}$/.test(text)) return Number(text) * 1_000;
  // Date.parse takes much for a date that is none.
  const at = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime());
}
