import { randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AllServices } from '../../src/domain/services.ts';
import { Deployment } from '../../src/domain/studio/deployments/deployment.entity.ts';
import { isEncodable, makeManifest, storeManifest } from '../../src/domain/studio/deployments/manifest.ts';
import { Environment } from '../../src/domain/studio/environments/environment.entity.ts';
import { deploymentLabel, environmentLabel } from '../../src/domain/studio/previews/previews.ts';
import { createPreview } from '../../src/preview/preview.ts';
import { PageScript } from '../../src/preview/send-file.ts';
import { createHttpServer } from '../../src/server/http/http-server.ts';

/** Whatever has services. */
interface Serving {
  services: AllServices;
}

/** What the preview origin answered. */
export interface Served {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  text: string;
}

interface Ask {
  method?: string;
  headers?: Record<string, string>;
}

/** The preview origin of a test application, answering on loopback. */
export interface TestPreview {
  port: number;
  /** Asks as a browser whose Host header names a label, the target sent as it is; '' is the bare host. */
  ask(label: string, target: string, options?: Ask): Promise<Served>;
  stop(): Promise<void>;
}

/** One request to a port of loopback, nothing about it normalised. */
export function askHost(port: number, host: string, target: string, { method = 'GET', headers = {} }: Ask = {}) {
  return new Promise<Served>((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path: target, headers: { host, ...headers } });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const body = Buffer.concat(chunks);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, text: body.toString() });
      });
    });
    outgoing.end();
  });
}

/**
 * Starts the preview origin, at `*.localhost` unless another form is given.
 * @param dashboard directory of a built dashboard, for pages that are edited
 */
export async function startPreview(
  { services }: Serving,
  form = 'http://*.localhost',
  dashboard?: string,
): Promise<TestPreview> {
  const server = createHttpServer(createPreview(services, new PageScript(dashboard)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  services.settings.preview_url = `${form}:${port}`;
  const host = form.replace(/^https?:\/\/\*\./, '');
  return {
    port,
    ask: (label, target, options) => askHost(port, `${label}${label && '.'}${host}:${port}`, target, options),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const contentOf = (text: string | Buffer) => (typeof text === 'string' ? Buffer.from(text) : text);

/** Stores files as an output. @returns the hash of its manifest */
export async function storeOutput({ blobs }: AllServices, files: Record<string, string | Buffer>): Promise<string> {
  const kept: Parameters<typeof makeManifest>[0] = await Promise.all(
    Object.entries(files).map(async ([path, text]) => ({ path, ...(await blobs.put(contentOf(text))) })),
  );
  const manifest = makeManifest(kept);
  for (const entry of manifest) if (isEncodable(entry)) await blobs.encode(entry[1]);
  return storeManifest(blobs, manifest);
}

async function projectId({ orm }: AllServices, name: string): Promise<number> {
  const [row] = (await orm.em.fork().execute('select id from project where machine_name = ?', [name])) as {
    id: number;
  }[];
  return row?.id ?? 0;
}

/** Makes an environment without publishing anything there. */
export async function makeEnvironment(
  { services }: Serving,
  {
    slug,
    visibility = 'public',
    project = 'site',
  }: { slug: string; visibility?: 'public' | 'members'; project?: string },
): Promise<{ id: number; label: string }> {
  const now = services.clock.now();
  const em = services.orm.em.fork();
  const row = em.create(Environment, {
    uuid: randomUUID(),
    project_id: await projectId(services, project),
    name: slug,
    slug,
    branch: 'main',
    type: 'preview',
    provider: 'static',
    root_directory: '',
    output_directory: '',
    variables: [],
    network: 'full',
    timeout_seconds: 900,
    auto_deploy: false,
    cancel_superseded: false,
    visibility,
    protected: false,
    version: 1,
    created_at: now,
    updated_at: now,
  });
  await em.persist(row).flush();
  return { id: row.id, label: environmentLabel(row) };
}

let runs = 0;

/** Publishes files to an environment. @returns the deployment */
export async function publish(
  { services }: Serving,
  environment: { id: number },
  files: Record<string, string | Buffer>,
): Promise<{ id: number; label: string }> {
  const manifest_sha256 = await storeOutput(services, files);
  const now = services.clock.now();
  const em = services.orm.em.fork();
  const { project_id } = await em.findOneOrFail(Environment, { id: environment.id });
  runs += 1;
  const row = em.create(Deployment, {
    project_id,
    environment_id: environment.id,
    run_number: runs,
    branch: 'main',
    commit_sha: '0'.repeat(40),
    title: 'Test',
    status: 'completed',
    conclusion: 'success',
    trigger: 'manual',
    attempt: 1,
    settings: {} as never,
    manifest_sha256,
    output_digest: manifest_sha256,
    cancel_requested: false,
    created_at: now,
    started_at: now,
    completed_at: now,
  });
  await em.persist(row).flush();
  await em.nativeUpdate(Environment, { id: environment.id }, { published_deployment_id: row.id });
  return { id: row.id, label: deploymentLabel(row.id) };
}
