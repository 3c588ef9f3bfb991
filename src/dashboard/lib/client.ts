/**
 * GraphQL over HTTP for all pages. What a command changed is queried again: the cache keeps answers by document and variables, and forgets
 * those that hold a type the command returned, or a list of it. Lists are sorted and counted by the server alone, so there is no record to splice
 * into them.
 */
import {
  type AnyVariables,
  Client,
  cacheExchange,
  createRequest,
  type Exchange,
  fetchExchange,
  makeOperation,
  mapExchange,
  type Operation,
  type OperationResult,
  type TypedDocumentNode,
} from '@urql/core';
import { filter, pipe, tap } from 'wonka';

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

/** Queries that have been sent and not answered, by key: the last request, and whether another one is due then, which may read something newer. */
const underWay = new Map<number, { operation: Operation; isDue: boolean }>();

/**
 * Keeps `underWay`, right before requests are made, and only the answer to the last of several requests for the same: sent side by side, the older
 * answer may come last, and would stay.
 */
const followQueries: Exchange = ({ forward }) => {
  const sent = (operation: Operation) => {
    const { kind, key } = operation;
    if (kind === 'query') underWay.set(key, { operation, isDue: false });
    else if (kind === 'teardown') underWay.delete(key);
  };
  const isLast = ({ operation }: OperationResult) => {
    const { kind, key } = operation;
    if (kind !== 'query') return true;
    const last = underWay.get(key);
    if (last?.operation !== operation) return false;
    underWay.delete(key);
    if (last.isDue) client.reexecuteOperation(makeOperation('query', operation, { requestPolicy: 'network-only' }));
    return true;
  };
  return (operations) => pipe(forward(pipe(operations, tap(sent))), filter(isLast));
};

export const client = new Client({
  url: '/graphql',
  exchanges: [cacheExchange, mapExchange({ onOperation: inOrder, onResult: withLists }), followQueries, fetchExchange],
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

/**
 * Sends a query again that is shown. One that is under way may have been read before the change that is to be seen, so it is sent once more when it has
 * been answered; many changes at once make two requests.
 */
export function refresh<Data, Variables extends AnyVariables>({ query, variables }: PageQuery<Data, Variables>): void {
  const request = createRequest(query, variables);
  const last = underWay.get(request.key);
  if (last) last.isDue = true;
  else client.reexecuteOperation(client.createRequestOperation('query', request, { requestPolicy: 'network-only' }));
}
