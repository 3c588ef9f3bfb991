import { isServable } from '../deployments/manifest.ts';

/** What a request asks for, taken apart. */
export interface RequestPath {
  /** As it came, from the first slash on. */
  raw: string;
  /** Percent-decoded once, without the first slash; a last slash is kept. */
  path: string;
  /** With its question mark; '' without a query. */
  query: string;
}

function decoded(raw: string): string | null {
  if (!raw.includes('%')) return raw;
  // An encoded slash is part of a name, and no file has one in its name.
  if (/%2f/i.test(raw)) return null;
  try {
    return decodeURIComponent(raw);
  } catch {
    return null;
  }
}

/**
 * Takes a request target apart (RFC 9112 3.2.1: origin form only).
 * @returns null when it can name no file: another form, `..` however encoded, a backslash, a control character, an empty segment
 */
export function parseRequestPath(target: string): RequestPath | null {
  if (!target.startsWith('/')) return null;
  const mark = target.indexOf('?');
  const raw = mark < 0 ? target : target.slice(0, mark);
  const path = decoded(raw.slice(1));
  if (path === null || (path !== '' && !isServable(path.endsWith('/') ? path.slice(0, -1) : path))) return null;
  return { raw, path, query: mark < 0 ? '' : target.slice(mark) };
}
