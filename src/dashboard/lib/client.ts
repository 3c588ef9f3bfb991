/**
 * GraphQL over HTTP for all pages. What a command changed is queried again: the cache keeps answers by document and variables, and forgets
 * those that hold a type the command returned. Lists are sorted and counted by the server alone, so there is no record to splice into them.
 */
import { type AnyVariables, Client, cacheExchange, fetchExchange, type TypedDocumentNode } from '@urql/core';

export const client = new Client({
  url: '/graphql',
  exchanges: [cacheExchange, fetchExchange],
  fetchOptions: { credentials: 'same-origin' },
  preferGetMethod: false,
});

/** What a page shows first: its document with the variables that its address gives. */
export interface PageQuery<Data, Variables extends AnyVariables> {
  query: TypedDocumentNode<Data, Variables>;
  variables: Variables;
}

/** Begins to ask for what a page shows, while its code is loaded; the page finds the answer, or waits for it. */
export function prefetch<Data, Variables extends AnyVariables>({ query, variables }: PageQuery<Data, Variables>): void {
  client.query(query, variables, { requestPolicy: 'network-only' }).toPromise();
}
