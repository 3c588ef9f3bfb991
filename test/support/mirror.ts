import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UpstreamSync } from '../../src/domain/studio/upstream/upstream-sync.ts';
import type { Repository } from '../../src/ports/git.ts';
import type { GitServeRequest } from '../../src/ports/git-transfer.ts';
import { type Answer, startTestApp, type TestApp } from './app.ts';
import { selfSigned } from './certificate.ts';
import { post } from './conflict-site.ts';
import { gitOverHttp } from './git-http.ts';
import { save, testStore } from './git-store.ts';

const tls = selfSigned();
/** PEM of the root that vouches for the hosts of `upstreamHost`. */
export const hostRoot = tls.cert;

/**
 * An application that trusts the git hosts of `upstreamHost` on loopback, and the directory its roots are in. Its clock stands still, so that what
 * was fetched becomes old only when a test says so, and its requests wait for the upstream as long as a busy machine takes.
 */
export async function startMirrorApp(): Promise<TestApp> {
  const directory = mkdtempSync(join(tmpdir(), 'portico-roots-'));
  const caFile = join(directory, 'ca.pem');
  writeFileSync(caFile, hostRoot);
  const app = await startTestApp({ PORTICO_CA_FILE: caFile, PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
  app.clock.now = new Date();
  app.services.studio.upstreams = new UpstreamSync(() => app.services, { patience: 60_000 });
  return {
    ...app,
    async stop() {
      await app.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A git host elsewhere: https, closed after the test. */
export interface UpstreamHost {
  /** Address of its one repository. */
  url: string;
  repository: Repository;
  /** The bare repository's directory, for stock git. */
  directory: string;
  /** Answers requests itself while it is set: a host that is down, slow or refuses. */
  rules: {
    guard?: (request: IncomingMessage, response: ServerResponse) => boolean;
    authorize: NonNullable<GitServeRequest['authorizePush']>;
  };
  /** `GET info/refs` and `POST` requests it has answered, as `<method> <action>`. */
  requests: string[];
}

export async function upstreamHost(): Promise<UpstreamHost> {
  const there = testStore();
  const repository = await there.store.create('site', 'main');
  const rules: UpstreamHost['rules'] = { authorize: async () => ({ allow: true }) };
  const requests: string[] = [];
  const { port } = await gitOverHttp(there.store, {
    tls,
    authorizePush: (...args) => rules.authorize(...args),
    guard(request, response) {
      requests.push(`${request.method} ${request.url?.split('.git/')[1]}`);
      return rules.guard?.(request, response) ?? false;
    },
  });
  return { url: `https://127.0.0.1:${port}/site.git`, repository, directory: there.path('site'), rules, requests };
}

/** Makes a new project of `acme`; `ask` sends requests to its studio. */
export async function projectOf(app: TestApp, name: string) {
  const { body } = await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { name, machine_name: name } });
  const base = `/api/v2/organizations/acme/projects/${name}/studio`;
  return {
    name,
    base,
    record: body as { id: number; uuid: string },
    git: await app.repository(name),
    ask: (method: string, path: string, sent?: unknown, headers?: Record<string, string>): Promise<Answer> =>
      app.ask(method, `${base}${path}`, { ...(sent !== undefined && { body: sent }), ...(headers && { headers }) }),
  };
}
export type TestProject = Awaited<ReturnType<typeof projectOf>>;

/** A token, and what revokes it. */
export async function revocable(app: TestApp, permissions: Parameters<TestApp['makeToken']>[0]) {
  const tokens = '/api/v2/organizations/acme/tokens';
  const token = await app.makeToken(permissions);
  const [newest] = (await app.ask('GET', tokens)).body;
  return { token, revoke: () => app.ask('DELETE', `${tokens}/${newest.id}`) };
}

let made = 0;

/** A host with one post on main, and a new project that mirrors it. */
export async function mirrorOf(app: TestApp, settings: object = {}) {
  const host = await upstreamHost();
  await save(host.repository, { 'content/posts/one.md': post({ title: 'One', tags: ['a'] }, 'First\n\nSecond\n') });
  const project = await projectOf(app, `mirror-${++made}`);
  const set = await project.ask('PUT', '/repository/remote', { url: host.url, ...settings });
  if (set.status !== 200) throw new Error(JSON.stringify(set.body));
  // On a busy machine the request may not have waited for all of it.
  await app.services.studio.upstreams.settled();
  return { host, project, set: set.body };
}
