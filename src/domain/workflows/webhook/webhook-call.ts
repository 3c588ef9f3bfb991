import type { WebhookTrigger } from '../triggers/trigger-cache.ts';

/** How a body came to its end: whole, refused by its reader, too slow, or lost with its connection. */
export type BodyEnd = 'whole' | 'stopped' | 'slow' | 'gone';

/** A call of a webhook as it came in, before a byte of its body was read. */
export interface WebhookCall {
  /** The last part of the path: whatever was written there. */
  workflow: string;
  method: string;
  /** Names and values in turn, as they were sent: parsed ones hide repeats. */
  rawHeaders: readonly string[];
  /** Behind the question mark, as it was sent. */
  query: string;
  /** Of the client. */
  address: string | null;
  /** Reads the body; `take` is given each piece and says, at once or when it is ready for the next, whether to go on. To be called once at most. */
  readBody(take: (chunk: Uint8Array) => boolean | Promise<boolean>): Promise<BodyEnd>;
}

/** An answer of the endpoint; the body is JSON. */
export interface WebhookResponse {
  status: number;
  body: { error: string } | { executionId: string };
  headers: Record<string, string>;
}

/** The values of all lines of one name, which is given in lower case. */
export function headerLines(rawHeaders: readonly string[], name: string): string[] {
  const lines: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) lines.push(rawHeaders[at + 1] ?? '');
  return lines;
}

/** All headers by their names in lower case; repeated lines are joined as RFC 9110 5.3 says. */
export function joinedHeaders(rawHeaders: readonly string[]): Map<string, string> {
  const joined = new Map<string, string>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const known = joined.get(name);
    const value = rawHeaders[at + 1] ?? '';
    joined.set(name, known === undefined ? value : `${known}, ${value}`);
  }
  return joined;
}

/** A proved call, ready to be stored. Its ids are made once, so that to store it twice is not possible. */
export interface ProvedCall {
  delivery_id: string;
  execution_id: string;
  trigger: WebhookTrigger;
  /** Of the secret that proved it. */
  secret_version: number;
  method: string;
  headers: Record<string, string>;
  query: Record<string, string | string[]>;
  /** Null: it is in the blob store under its hash. */
  body: Uint8Array | null;
  raw_size: number;
  raw_sha256: string;
  dedup_key: string | null;
  generation: number;
  received_at: Date;
}
