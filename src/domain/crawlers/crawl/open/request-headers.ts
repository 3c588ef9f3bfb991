import { createHash } from 'node:crypto';

interface HeaderSources {
  userAgent: string;
  /** Of the crawler. */
  headers: Readonly<Record<string, string>>;
  /** Primary host and its sibling. */
  isOwn: boolean;
}

const credentials = new Set(['authorization', 'cookie']);

/** Headers of a request: those of the crawler go to its own hosts, and to allowed ones without credentials. */
export function requestHeaders({ userAgent, headers, isOwn }: HeaderSources): Record<string, string> {
  const sent: Record<string, string> = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'user-agent': userAgent };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (isOwn || !credentials.has(lower)) sent[lower] = value;
  }
  return sent;
}

/** A name for request headers: validators are only sent to those that asked alike. */
export const requestHash = (headers: Readonly<Record<string, string>>): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(headers).sort()))
    .digest('base64url')
    .slice(0, 22);
