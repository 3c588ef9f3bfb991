import { normaliseEscapes } from './normalise.ts';

/** One `Allow` or `Disallow` line. */
export interface RobotsRule {
  isAllow: boolean;
  /** Characters of its normal form: the longest rule that matches decides. */
  length: number;
  /** @param path path and query of a normalised URL, `*` and `$` in them escaped */
  matches(path: string): boolean;
}

/** Written as URLs write it, so that both sides of a comparison have one spelling. */
function inUrl(text: string): string {
  const encoded = text.toWellFormed().replace(/[^\u0021-\u007e]|["<>]/gu, (character) => encodeURIComponent(character));
  return normaliseEscapes(encoded);
}

/**
 * Compiles the path of a rule. Parts between stars are found leftmost first, which no text makes slow.
 * @returns null for one that can match no path
 */
export function pathPattern(written: string, isAllow: boolean): RobotsRule | null {
  const isEnd = written.endsWith('$');
  const pattern = inUrl(isEnd ? written.slice(0, -1) : written);
  if (!pattern.startsWith('/') && !pattern.startsWith('*')) return null;
  // Taken apart once: a robots.txt may have tens of thousands of rules, and each is asked about every address.
  const [first = '', ...middle] = pattern.replace(/\*+/g, '*').replaceAll('$', '%24').split('*');
  const last = isEnd ? middle.pop() : undefined;
  const isExact = isEnd && last === undefined;
  return {
    isAllow,
    length: pattern.length + (isEnd ? 1 : 0),
    matches: (path) => (isExact ? path === first : path.startsWith(first) && goesOn(path, first.length, middle, last)),
  };
}

/** Whether parts follow one another in a path from a place on, and the last one ends it. */
function goesOn(path: string, from: number, parts: readonly string[], last: string | undefined): boolean {
  let at = from;
  for (const part of parts) {
    const found = path.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return last === undefined || (path.length - last.length >= at && path.endsWith(last));
}
