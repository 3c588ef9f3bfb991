import type { Actor } from '../../domain/identity/actor.ts';

/** What a stream and the resolver that feeds it tell one another. */
export interface StreamState {
  /** Position the client has read to; null: it begins. */
  after: string | null;
  /** Ends with the client's connection, or with the server. */
  signal: AbortSignal;
  /** Looks again who the caller is. @throws DomainError `unauthenticated` when the credential has ended */
  authenticate(): Promise<Actor | null>;
  /** Milliseconds after which a stream looks for news that nobody announced. */
  pollEvery: number;
  /** Position of the event in hand. */
  position: string | null;
  /** The event in hand says that some before it are lost: what is shown has to be asked for anew. */
  refetch: boolean;
}
