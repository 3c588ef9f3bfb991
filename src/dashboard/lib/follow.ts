/** Subscriptions over server-sent events (GraphQL over SSE, distinct connections mode), which go on after a lost connection. */
import { type AnyVariables, CombinedError, stringifyDocument, type TypedDocumentNode } from '@urql/core';
import { createClient, NetworkError } from 'graphql-sse';
import { type Fault, faultOf } from './faults.ts';

/** Milliseconds between two tries to connect: doubled from the first on, and at most the last. */
const [shortestWait, longestWait] = [1_000, 30_000];

interface Subscription<Data, Variables> {
  document: TypedDocumentNode<Data, Variables>;
  variables: Variables;
  /** Where to go on after this event; null: from the beginning. */
  positionOf?: (data: Data) => string | null;
  /** Where to begin. */
  position?: string | null;
  onData: (data: Data) => void;
  /** Events are lost: what is shown is to be read anew. */
  onLost?: () => void;
  /** Nothing will follow: the server has ended it, or refuses it. */
  onEnd?: (fault: Fault | null) => void;
}

/** Ends early when the browser is online again. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  addEventListener('online', () => resolve(), { once: true, signal });
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}

/** @returns a function that ends the subscription; nothing is called after that */
export function follow<Data, Variables extends AnyVariables>(subscription: Subscription<Data, Variables>): () => void {
  const { document, variables, positionOf, onData, onLost, onEnd } = subscription;
  let position = subscription.position ?? null;
  let tries = 0;
  const ended = new AbortController();
  const end = (fault: Fault | null) => {
    if (ended.signal.aborted) return;
    ended.abort();
    onEnd?.(fault);
  };
  const client = createClient({
    url: '/graphql',
    headers: (): Record<string, string> => (position === null ? {} : { 'Last-Event-ID': position }),
    retryAttempts: 0,
  });
  const request = { query: stringifyDocument(document), variables: variables as Record<string, unknown> };
  const connect = () =>
    new Promise<void>((resolve, reject) => {
      const close = client.subscribe<Data & Record<string, unknown>, { refetch?: boolean }>(request, {
        next: ({ data, errors, extensions }) => {
          if (ended.signal.aborted) return;
          tries = 0;
          if (errors) return end(faultOf(new CombinedError({ graphQLErrors: [...errors] })));
          if (extensions?.refetch) {
            // The position is of no use any more.
            position = null;
            onLost?.();
          } else if (data) {
            position = positionOf?.(data) ?? null;
            onData(data);
          }
        },
        error: reject,
        complete: resolve,
      });
      ended.signal.addEventListener('abort', close, { once: true });
    });
  const run = async () => {
    while (!ended.signal.aborted) {
      try {
        await connect();
        return end(null);
      } catch (error) {
        const response = error instanceof NetworkError ? (error.response as Response | undefined) : undefined;
        if (response?.status === 401)
          return end(faultOf(new CombinedError({ networkError: error as Error, response })));
        await pause(Math.min(shortestWait * 2 ** tries, longestWait) * (0.75 + Math.random() / 2), ended.signal);
        tries += 1;
      }
    }
  };
  void run();
  return () => ended.abort();
}
