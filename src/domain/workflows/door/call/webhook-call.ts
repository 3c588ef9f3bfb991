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

/** What the door answers; the body is JSON. */
export interface DoorAnswer {
  status: number;
  body: { error: string } | { executionId: string };
  headers: Record<string, string>;
}
