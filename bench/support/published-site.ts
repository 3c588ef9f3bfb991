import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { Project } from '../../src/domain/projects/project.entity.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import type { AllServices } from '../../src/domain/services.ts';
import { Deployment } from '../../src/domain/studio/deployments/deployment.entity.ts';
import { isEncodable, makeManifest, storeManifest } from '../../src/domain/studio/deployments/manifest.ts';
import { Environment } from '../../src/domain/studio/environments/environment.entity.ts';
import { environmentLabel } from '../../src/domain/studio/previews/previews.ts';
import { permissionNames, systemActor } from '../../src/kernel/actor.ts';
import { run } from '../../src/kernel/run.ts';
import { readConfig } from '../../src/server/config.ts';
import { openCore } from '../../src/server/core.ts';
import { openDatabase } from '../../src/server/database.ts';
import { systemCall } from '../../src/server/first-run.ts';
import { createLog } from '../../src/server/log.ts';

/** A data directory in which files are published, for a server to be started on it. */
export interface PublishedSite {
  dataDir: string;
  /** Environment the server needs. */
  environment: Record<string, string>;
  /** Label of the preview origin that serves the files to everybody. */
  label: string;
}

async function store({ blobs }: AllServices, files: Readonly<Record<string, Buffer>>): Promise<string> {
  const kept: { path: string; sha256: string; size: number }[] = [];
  for (const [name, content] of Object.entries(files)) kept.push({ path: name, ...(await blobs.put(content)) });
  const manifest = makeManifest(kept);
  for (const entry of manifest) if (isEncodable(entry)) await blobs.encode(entry[1]);
  return storeManifest(blobs, manifest);
}

/** Rows of an environment whose output is there, as a finished deployment leaves them. @returns its label */
async function publish(services: AllServices, manifest_sha256: string): Promise<string> {
  const admin = systemCall(services, systemActor('bench', permissionNames, 'localhost', true));
  await run(createOrganization, admin, { name: 'Bench', machine_name: 'bench' });
  await run(createProject, admin, { organization: 'bench', name: 'Site', machine_name: 'site' });
  const em = services.orm.em.fork();
  const { id: project_id } = await em.findOneOrFail(Project, { machine_name: 'site' });
  const now = new Date();
  const environment = em.create(Environment, {
    ...{ uuid: randomUUID(), slug: 'main', project_id, name: 'main', branch: 'main', type: 'production' },
    ...{ provider: 'static', root_directory: '', output_directory: '', variables: [], network: 'full' },
    ...{ timeout_seconds: 900, auto_deploy: false, cancel_superseded: false, visibility: 'public', protected: false },
    ...{ version: 1, created_at: now, updated_at: now },
  });
  await em.persist(environment).flush();
  const deployment = em.create(Deployment, {
    ...{ project_id, environment_id: environment.id, run_number: 1, branch: 'main', commit_sha: '0'.repeat(40) },
    ...{ title: 'Bench', status: 'completed', conclusion: 'success', trigger: 'manual', attempt: 1 },
    ...{ settings: {} as never, manifest_sha256, output_digest: manifest_sha256, cancel_requested: false },
    ...{ created_at: now, started_at: now, completed_at: now },
  });
  await em.persist(deployment).flush();
  environment.published_deployment_id = deployment.id;
  await em.flush();
  return environmentLabel(environment);
}

/** Makes a data directory below `root` in which files, by path, are published. */
export async function publishSite(root: string, files: Readonly<Record<string, Buffer>>): Promise<PublishedSite> {
  const dataDir = path.join(root, 'data');
  const environment = { PORTICO_DEMO: 'off' };
  const { config } = readConfig({ PORTICO_DATA_DIR: dataDir, ...environment });
  const log = createLog({ level: 'silent', redactHeaders: [] });
  const database = await openDatabase(config, log);
  const settings = { public_url: 'http://localhost', public_host: 'localhost' };
  const core = await openCore({ config, databaseUrl: database.url, log, settings });
  try {
    const label = await publish(core.services, await store(core.services, files));
    return { dataDir, environment, label };
  } finally {
    await core.close();
    await database.stop();
  }
}
