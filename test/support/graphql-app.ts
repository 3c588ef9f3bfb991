import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect } from 'vitest';
import type { AllServices } from '../../src/domain/services.ts';
import { createGraphql } from '../../src/graphql/server.ts';
import { type Permission, permissionNames } from '../../src/kernel/actor.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { type Answer, startTestApp, type TestApp } from './app.ts';
import { observeDatabase } from './observe-database.ts';

interface Query {
  /** Default: `full`; null: none. */
  token?: string | null | undefined;
  variables?: object;
  headers?: Record<string, string>;
}

/** A test application as GraphQL's tests look at it: what ran, and how often. */
export interface GraphqlApp extends Pick<TestApp, 'services' | 'url' | 'repository'> {
  /** Names of the operations that ran since the last `reset`. */
  operations: string[];
  /** Lines of the log since the last `reset`. */
  log: string[];
  /** Database statements since the last `reset`. */
  statements: string[];
  reset(): void;
  /** The least of five requests: once earlier writes are followed, only timers add statements, now and then. */
  leastOf(ask: () => Promise<unknown>): Promise<{ operations: string[]; statements: string[] }>;
  /** Milliseconds every database statement waits, so that time can run out. */
  delay: number;
  run(operation: AnyOperation, input: object): Promise<unknown>;
  /** A token of `acme` with all permissions. */
  full: string;
  /** A token of an organisation with these permissions; all without a list. */
  token(organization: string, permissions?: readonly Permission[], projects?: string[]): Promise<string>;
  query(document: string, options?: Query): Promise<Answer>;
  /** What a document gives, which must succeed. */
  data(document: string, options?: Query): Promise<Answer['body']>;
  /** Any request; the id it is answered under is `test-request`. */
  send(path: string, init: RequestInit & { token?: string | undefined }): Promise<Answer>;
  close(): Promise<void>;
}

/** GraphQL alone, where a request has less time than the application gives it. */
async function hurried(services: AllServices, { timeLimits = { query: 30, mutation: 120 }, streams }: Options) {
  const app = express();
  app.use((request, response, next) => {
    response.setHeader('X-Request-Id', request.headers['x-request-id'] ?? '');
    next();
  });
  app.all('/graphql', createGraphql({ services, introspection: false, timeLimits, ...(streams && { streams }) }));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

interface Options {
  introspection?: boolean;
  /** Seconds. */
  timeLimits?: { query: number; mutation: number };
  /** Milliseconds. */
  streams?: { heartbeat: number; patience: number; poll: number };
}

/** An application with organisation `acme` and its project `site`. */
export async function graphqlApp({ introspection = false, ...times }: Options = {}): Promise<GraphqlApp> {
  const app = await startTestApp({ PORTICO_GRAPHQL_INTROSPECTION: introspection ? 'on' : 'off' });
  const { services, log } = app;
  const other = times.timeLimits || times.streams ? await hurried(services, times) : undefined;
  const url = other?.url ?? app.url;
  const operations: string[] = [];
  services.metrics = { ...services.metrics, operation: (name) => void operations.push(name) };
  const statements: string[] = [];
  observeDatabase(
    services,
    (statement) => statements.push(statement),
    () => made.delay,
  );
  const made: GraphqlApp = {
    services,
    url,
    operations,
    log,
    delay: 0,
    statements,
    reset() {
      statements.length = 0;
      operations.length = 0;
      log.length = 0;
    },
    run: app.run,
    full: app.token,
    async leastOf(ask) {
      await services.studio.moves.settled();
      await services.studio.content.settled();
      const costs = [];
      for (let time = 0; time < 5; time += 1) {
        made.reset();
        await ask();
        costs.push({ operations: [...operations].sort(), statements: [...statements] });
      }
      return costs.reduce((least, cost) => (cost.statements.length < least.statements.length ? cost : least));
    },
    repository: app.repository,
    token: (organization, permissions = permissionNames, projects) =>
      app.makeToken(permissions, { organization, ...(projects && { projects }) }),
    query: (query, { token = app.token, variables, headers } = {}) =>
      made.send('/graphql', {
        method: 'POST',
        token: token ?? undefined,
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ query, ...(variables && { variables }) }),
      }),
    async data(document, options) {
      const { status, body } = await made.query(document, options);
      expect(body.errors).toBeUndefined();
      expect(status).toBe(200);
      return body.data;
    },
    async send(path, { token, ...init }) {
      const headers = new Headers({ 'X-Request-Id': 'test-request', ...(init.headers as Record<string, string>) });
      if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
      const base = path.startsWith('/graphql') ? url : app.url;
      const response = await fetch(`${base}${path}`, { ...init, headers });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
    },
    async close() {
      await other?.close();
      await app.stop();
    },
  };
  return made;
}
