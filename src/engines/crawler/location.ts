import type { FetchedHeaders } from '../../domain/ports/fetcher.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The `Location` of an answer. Header bytes come as Latin-1; browsers take them for UTF-8 when they can be (servers send IRIs unescaped),
 * and so do we.
 */
export function locationOf(headers: FetchedHeaders): string | null {
  const value = headers.location;
  const first = (Array.isArray(value) ? value[0] : value)?.trim();
  if (first === undefined || first === '') return null;
  try {
    return utf8.decode(Buffer.from(first, 'latin1'));
  } catch {
    return first;
  }
}
