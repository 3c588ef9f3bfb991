import type { Actor } from '../../kernel/actor.ts';

/** State shared by a stream and the resolver that feeds it. */
export interface StreamState {
  /** Position the client has read to; null: it begins. */
  after: string | null;
  /** Ends with the client's connection, or with the server. */
  signal: AbortSignal;
  /**
   * Authenticates again, and takes room anew: what was read before has been sent, or has led to no event.
   * @throws DomainError `unauthenticated` when the credential has ended
   */
  renew(): Promise<Actor | null>;
  /** Milliseconds after which a stream looks for news without a notification. */
  pollEvery: number;
  /** Position of the event in hand. */
  position: string | null;
  /** The current event means that some before it are lost: the client has to read the state anew. */
  refetch: boolean;
}
