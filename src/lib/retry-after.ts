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
