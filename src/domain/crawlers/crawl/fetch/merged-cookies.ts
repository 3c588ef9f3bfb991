const pairsOf = (cookies: string | null | undefined) =>
  (cookies ?? '').split('; ').flatMap((pair) => (pair === '' ? [] : [[pair.split('=', 1)[0] ?? '', pair] as const]));

/** Cookies of a request: those the run has kept, and those of the page, which its scripts may have changed; null when there are none. */
export function mergedCookies(kept: string | null, shown: string | undefined): string | null {
  const all = new Map([...pairsOf(kept), ...pairsOf(shown)]);
  return all.size === 0 ? null : [...all.values()].join('; ');
}
