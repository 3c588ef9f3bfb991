import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { migrate, openOrm } from '../../src/db/orm.ts';
import type { Actor } from '../../src/domain/identity/actor.ts';
import { GrantCache } from '../../src/domain/identity/grant-cache.ts';
import { createToken } from '../../src/domain/identity/tokens.operations.ts';
import type { AnyOperation, Call } from '../../src/domain/operation.ts';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { type Permission, permissionNames } from '../../src/domain/permissions.ts';
import type { Log } from '../../src/domain/ports/log.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { run } from '../../src/domain/run.ts';
import type { Services } from '../../src/domain/services.ts';
import { ContentIndex } from '../../src/domain/studio/content/content-index.ts';
import { createGitStore } from '../../src/engines/git/store.ts';
import { createGraphql } from '../../src/graphql/server.ts';
import { createRouter } from '../../src/rest/router.ts';
import { routes } from '../../src/rest/routes.ts';
import { createDatabase } from './postgres.ts';

export interface LogLine {
  level: string;
  message: string;
  fields: Record<string, unknown>;
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  body: any;
}

export interface GraphqlApp {
  services: Services;
  url: string;
  /** Operations that ran since the last `reset`, by name. */
  operations: string[];
  log: LogLine[];
  /** Database statements since the last `reset`. */
  statements(): number;
  reset(): void;
  /** Milliseconds every database statement waits, so that time can run out. */
  delay: number;
  run(operation: AnyOperation, input: Record<string, unknown>): Promise<unknown>;
  /** A token of an organisation with these permissions; all without a list. */
  token(organization: string, permissions?: readonly Permission[], projects?: readonly string[]): Promise<string>;
  query(
    document: string,
    options?: { token?: string | undefined; variables?: object; headers?: object },
  ): Promise<Answer>;
  send(path: string, init: RequestInit & { token?: string }): Promise<Answer>;
  close(): Promise<void>;
}

/** The owner of the machine: may do all, everywhere. */
export const administrator: Actor = {
  id: 'system:test',
  author: { name: 'Test', email: 'test@example.org' },
  instance_admin: true,
  organizations: null,
  grantFor: (organization_id) => ({
    organization_id,
    permissions: new Set(permissionNames),
    projects: null,
    owner: true,
  }),
};

function recordingLog(lines: LogLine[]): Log {
  const write = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, fields: fields as Record<string, unknown> });
    if (process.env.GRAPHQL_TEST_LOG && level !== 'debug') console.error(level, message, fields);
  };
  const log: Log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => log,
  };
  return log;
}

const absent = (part: string) =>
  new Proxy({}, { get: () => () => Promise.reject(new Error(`${part} is not there in this test`)) });

/** GraphQL and REST over a database and repositories of their own, with organisation `acme` and its project `site`. */
export async function graphqlApp(
  options: { introspection?: boolean; timeLimits?: { query: number; mutation: number } } = {},
): Promise<GraphqlApp> {
  const database = await createDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'portico-graphql-'));
  const orm = openOrm(database.url, 5);
  await migrate(orm);
  let statements = 0;
  const connection = orm.em.getConnection();
  const execute = connection.execute.bind(connection);
  connection.execute = (async (...given: Parameters<typeof execute>) => {
    statements += 1;
    if (made.delay > 0) await new Promise((resolve) => setTimeout(resolve, made.delay));
    return execute(...given);
  }) as typeof connection.execute;

  const lines: LogLine[] = [];
  const log = recordingLog(lines);
  const operations: string[] = [];
  // Nobody listens to the database here, so nothing is cached, unless a test says otherwise.
  const grants = new GrantCache();
  const git = createGitStore({
    dataDir,
    log,
    committer: { name: 'Portico', email: 'portico@localhost' },
    now: () => new Date(),
    resolveUpstream: () => Promise.reject(new Error('no upstream in this test')),
  });
  const services: Services = {
    orm,
    git,
    grants,
    log,
    content: new ContentIndex(),
    http: absent('http') as Services['http'],
    secrets: absent('secrets') as Services['secrets'],
    jobs: { send: async () => {} },
    clock: { now: () => new Date() },
    metrics: { operation: (name) => void operations.push(name) },
    settings: { public_url: 'http://localhost', public_host: 'localhost' },
  };

  const app = express();
  app.use((request, response, next) => {
    response.setHeader('X-Request-Id', request.headers['x-request-id'] ?? 'test-request');
    next();
  });
  const { introspection = false, timeLimits } = options;
  app.use('/graphql', createGraphql({ services, introspection, ...(timeLimits && { timeLimits }) }));
  app.use(createRouter(routes, services));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const made: GraphqlApp = {
    services,
    url,
    operations,
    log: lines,
    delay: 0,
    statements: () => statements,
    reset() {
      statements = 0;
      operations.length = 0;
      lines.length = 0;
    },
    run(operation, input) {
      const call: Call = {
        services,
        actor: administrator,
        conditions: {},
        signal: new AbortController().signal,
        request_id: 'setup',
        address: null,
        facts: {},
      };
      return run(operation, call, input);
    },
    async token(organization, permissions = permissionNames, projects) {
      const input = { organization, name: 'Test', permissions, ...(projects && { projects }) };
      return ((await made.run(createToken, input)) as { token: string }).token;
    },
    query(query, { token, variables, headers } = {}) {
      return made.send('/graphql', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ query, ...(variables && { variables }) }),
        ...(token !== undefined && { token }),
      });
    },
    async send(path, { token, ...init }) {
      const headers = new Headers(init.headers);
      if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
      const response = await fetch(`${url}${path}`, { ...init, headers });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await git.close();
      await orm.close();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  await made.run(createOrganization, { name: 'Acme', machine_name: 'acme' });
  await made.run(createProject, { organization: 'acme', name: 'Site', machine_name: 'site' });
  return made;
}
