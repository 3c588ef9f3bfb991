/** The page at `/explorer`: GraphiQL for the session of the dashboard, or for a token among the headers. */
import 'graphiql/style.css';
import './tools.css';
import { GraphiQL } from 'graphiql';
import { getOperationAST } from 'graphql';
import { createClient } from 'graphql-sse';
import type { ComponentProps } from 'react';
import { createRoot } from 'react-dom/client';

type Fetcher = ComponentProps<typeof GraphiQL>['fetcher'];

const firstQuery = `# Runs as the person who is signed in to the dashboard.
# For a token, write {"Authorization": "Bearer …"} below "Headers";
# it is kept until this page is left.

query Start {
  organizations(first: 10) {
    nodes {
      name
      machine_name
    }
  }
}
`;

/** Subscriptions come as server-sent events, everything else as one answer in JSON. */
const fetcher: Fetcher = async ({ query, variables, operationName }, { headers = {}, documentAST } = {}) => {
  const request = { query, variables, ...(operationName && { operationName }) };
  if (documentAST && getOperationAST(documentAST, operationName)?.operation === 'subscription')
    return createClient({ url: '/graphql', headers, retryAttempts: 0 }).iterate(request) as ReturnType<Fetcher>;
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(request),
  });
  return response.json();
};

const withoutHeaders = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text, (name, value) => (name === 'headers' ? undefined : value)));
  } catch {
    // A query, or a name.
    return text;
  }
};

/** What GraphiQL keeps in the browser, without headers: its history would keep the token of each query that was run. */
const storage: ComponentProps<typeof GraphiQL>['storage'] = {
  getItem: (key) => localStorage.getItem(key),
  setItem: (key, value) => localStorage.setItem(key, withoutHeaders(value)),
  removeItem: (key) => localStorage.removeItem(key),
  clear: () => localStorage.clear(),
  get length() {
    return localStorage.length;
  },
};

const root = document.getElementById('root');
if (!root) throw new Error('The page has no place for the explorer');
createRoot(root).render(
  <main className="explorer">
    <h1 className="unseen">GraphQL explorer</h1>
    <GraphiQL fetcher={fetcher} defaultQuery={firstQuery} storage={storage}>
      <GraphiQL.Logo>{null}</GraphiQL.Logo>
    </GraphiQL>
  </main>,
);
