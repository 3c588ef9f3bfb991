/**
 * GraphQL over HTTP for all pages. What a command changed is queried again: the cache keeps answers by document and variables, and forgets
 * those that hold a type the command returned, or a list of it. Lists are sorted and counted by the server alone, so there is no record to splice
 * into them.
 */
import {
  type AnyVariables,
  Client,
  cacheExchange,
  fetchExchange,
  makeOperation,
  mapExchange,
  type Operation,
  type OperationResult,
  type TypedDocumentNode,
} from '@urql/core';

/** Names of the types of what an answer holds. */
function typesIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  if ('__typename' in value) found.add(String(value.__typename));
  for (const inner of Object.values(value)) typesIn(inner, found);
  return found;
}

/** What a command returned is in lists of its type, also in those that were empty, which hold no more than the list. */
function withLists(result: OperationResult): OperationResult {
  const { operation, data } = result;
  if (operation.kind !== 'mutation') return result;
  const lists = [...typesIn(data)].map((type) => `${type}Connection`);
  const additionalTypenames = [...(operation.context.additionalTypenames ?? []), ...lists];
  return { ...result, operation: makeOperation('mutation', operation, { ...operation.context, additionalTypenames }) };
}

/** Sends a command's variables with their keys in the order they have: it is that of the keys that are written to files. urql sorts them. */
function inOrder(operation: Operation): Operation {
  if (operation.kind !== 'mutation') return operation;
  const send: typeof fetch = (input, init) => {
    const body = JSON.parse(String(init?.body)) as object;
    return fetch(input, { ...init, body: JSON.stringify({ ...body, variables: operation.variables }) });
  };
  return makeOperation('mutation', operation, { ...operation.context, fetch: send });
}

export const client = new Client({
  url: '/graphql',
  exchanges: [cacheExchange, mapExchange({ onOperation: inOrder, onResult: withLists }), fetchExchange],
  fetchOptions: { credentials: 'same-origin' },
  preferGetMethod: false,
});

/** What a page shows first: its document with the variables that its address gives. */
export interface PageQuery<Data, Variables extends AnyVariables> {
  query: TypedDocumentNode<Data, Variables>;
  variables: Variables;
}

/** Begins to load what a page shows, while its code is loaded; the page finds the answer, or waits for it. */
export function prefetch<Data, Variables extends AnyVariables>({ query, variables }: PageQuery<Data, Variables>): void {
  client.query(query, variables, { requestPolicy: 'network-only' }).toPromise();
}
