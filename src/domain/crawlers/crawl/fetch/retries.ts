/** Requests for one URL in all. */
export const mostAttempts = 4;

/** Statuses worth another try (408 timeout, 425 too early, 429 too many requests, and what servers pass through). */
const retried = new Set([408, 425, 429, 500, 502, 503, 504]);

export const isRetried = (status: number): boolean => retried.has(status);

const longest = 300_000;

/**
 * Milliseconds before the next try: 2 s × 2ⁿ ± 20 %, at most 5 minutes.
 * @param attempts requests so far
 * @param first milliseconds before the second try
 */
export function backOff(attempts: number, first: number, random: () => number = Math.random): number {
  const wait = first * 2 ** (attempts - 1) * (0.8 + 0.4 * random());
  return Math.min(longest, Math.round(wait));
}

/** Longest wait a server may ask for, seconds. */
export const longestRetryAfter = 600;

/** Seconds a `Retry-After` asks to wait (RFC 9110 section 10.2.3: seconds or a date); null when it says neither. */
export function retryAfter(value: string | string[] | undefined, now: Date): number | null {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (text === undefined) return null;
  if (/^\d+$/.test(text)) return Number(text);
  // Date.parse takes much for a date that is none.
  if (!/^[A-Z][a-z]+,? /.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, (at - now.getTime()) / 1_000);
}
