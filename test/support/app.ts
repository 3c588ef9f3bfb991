import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import express from 'express';
import { afterAll, beforeAll } from 'vitest';
import { createToken } from '../../src/domain/identity/tokens.operations.ts';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import type { AllServices } from '../../src/domain/services.ts';
import { type Permission, permissionNames, systemActor, type ToolRights } from '../../src/kernel/actor.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { run } from '../../src/kernel/run.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Repository } from '../../src/ports/git.ts';
import { routes } from '../../src/rest/routes.ts';
import { createSite } from '../../src/rest/site.ts';
import { readConfig } from '../../src/server/config.ts';
import { openCore } from '../../src/server/core.ts';
import { systemCall } from '../../src/server/first-run.ts';
import { createApp } from '../../src/server/http/app.ts';
import { createHttpServer } from '../../src/server/http/http-server.ts';
import { createLog } from '../../src/server/log.ts';
import { createDatabase } from './postgres.ts';

/** What a test requested and got. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

interface Ask {
  token?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A whole application on a real database and real repositories, answering on loopback. */
export interface TestApp {
  url: string;
  services: AllServices;
  /** Every line the log wrote. */
  log: string[];
  /** The time the service sees; assign to move it. */
  clock: { now: Date | null };
  /** Token with every permission in organisation `acme`, which has the project `site`. */
  token: string;
  /** Runs an operation as the instance's administrator. */
  run(operation: AnyOperation, input: object): Promise<unknown>;
  makeToken(
    permissions: readonly Permission[],
    options?: { organization?: string; projects?: string[]; mcp?: Partial<ToolRights> },
  ): Promise<string>;
  ask(method: string, path: string, options?: Ask): Promise<Answer>;
  /** The repository of a project of `acme`. */
  repository(project?: string): Promise<Repository>;
  /** The bare repository of a project's uuid, for stock git. */
  directory(uuid: string): string;
  stop(): Promise<void>;
}

/** What `/metrics` of a test application requires. */
export const metricsToken = 'metrics-of-a-test';

export const acme = '/api/v2/organizations/acme';
export const studio = `${acme}/projects/site/studio`;

/**
 * Starts an application with organisation `acme`, project `site` and a token that may do everything there.
 * @param dashboard directory of a built dashboard, for tests that look at it
 */
export async function startTestApp(environment: Record<string, string> = {}, dashboard?: string): Promise<TestApp> {
  const database = await createDatabase();
  const dataDir = await mkdtemp(path.join(tmpdir(), 'portico-app-'));
  const { config } = readConfig({
    PORTICO_DATA_DIR: dataDir,
    PORTICO_LOG_LEVEL: 'debug',
    PORTICO_METRICS_TOKEN: metricsToken,
    ...environment,
  });
  const log: string[] = [];
  const settings = { public_url: 'http://portico.test', public_host: 'portico.test' };
  const time: { now: Date | null } = { now: null };
  const clock: Clock = { now: () => time.now ?? new Date() };
  const destination = { write: (line: string) => void log.push(line) };
  const core = await openCore({
    config,
    settings,
    clock,
    databaseUrl: database.url,
    log: createLog({ level: config.PORTICO_LOG_LEVEL, redactHeaders: [], destination }),
  });
  const { services } = core;
  const application = createApp(core, config);
  const server: Server = createHttpServer(
    dashboard ? express().use(createSite(services.settings, routes, dashboard), application) : application,
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const admin = systemActor('test', permissionNames, 'portico.test', true);
  const runAs = (operation: AnyOperation, input: object) => run(operation, systemCall(services, admin), input);
  await runAs(createOrganization, { name: 'Acme', machine_name: 'acme' });
  await runAs(createProject, { organization: 'acme', name: 'Site', machine_name: 'site' });
  const makeToken: TestApp['makeToken'] = async (permissions, { organization = 'acme', projects, mcp } = {}) => {
    const draft = { organization, name: 'Test', permissions, ...(projects && { projects }), ...(mcp && { mcp }) };
    return ((await runAs(createToken, draft)) as { token: string }).token;
  };
  const token = await makeToken(permissionNames);
  return {
    url,
    services,
    log,
    clock: time,
    token,
    run: runAs,
    makeToken,
    async ask(method, at, { token: given = token, body, headers = {} } = {}) {
      const response = await fetch(`${url}${at}`, {
        method,
        headers: {
          ...(given !== null && { Authorization: `Bearer ${given}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        redirect: 'manual',
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.startsWith('application/json');
      return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text };
    },
    async repository(project = 'site') {
      const [row] = (await services.orm.em
        .fork()
        .execute('select uuid from project where machine_name = ?', [project])) as { uuid: string }[];
      return services.git.open(row?.uuid ?? '');
    },
    directory: (uuid) => path.join(dataDir, 'git', `${uuid}.git`),
    async stop() {
      let at = 'its listener';
      // Before the hook's own time is over, which would not say what it was waiting for.
      const late = setTimeout(() => console.error(`An application waits for ${at}:`, ...log.slice(-3)), 90_000);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      at = 'its parts';
      await core.close();
      at = 'the end of its database';
      await database.drop();
      clearTimeout(late);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/**
 * What all tests of a file or a `describe` share: started before the first of them, in the order of these calls, and ended after the last by its
 * `stop` or `close`. Its members can be used from then on.
 */
export function shared<Started extends object>(start: () => Promise<Started>): Started {
  let made: (Started & { stop?(): unknown; close?(): unknown }) | undefined;
  const started = (): Started => {
    if (!made) throw new Error('What tests share is there from beforeAll on');
    return made;
  };
  beforeAll(async () => {
    made = await start();
  });
  afterAll(() => (made?.stop ?? made?.close)?.call(made));
  return new Proxy({} as Started, {
    get: (_, key) => Reflect.get(started(), key),
    set: (_, key, value) => Reflect.set(started(), key, value),
    has: (_, key) => Reflect.has(started(), key),
    ownKeys: () => Reflect.ownKeys(started()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(started(), key),
  });
}

/** Puts files into a project's repository as one commit on its default branch. */
export async function seed(app: TestApp, files: Record<string, string | Buffer>, project = 'site'): Promise<string> {
  const git = await app.repository(project);
  const changes = Object.entries(files).map(([at, content]) => ({ path: at, content: Buffer.from(content as string) }));
  const author = { name: 'Seed', email: 'seed@portico.test' };
  const { commit } = await git.write({
    branch: await git.defaultBranch(),
    author,
    plan: async () => ({ changes, message: 'Seed', result: null }),
  });
  return commit?.sha ?? '';
}
