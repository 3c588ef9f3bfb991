import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { openCore } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database.ts';
import { systemActor } from '../../src/domain/identity/actor.ts';
import { createToken } from '../../src/domain/identity/tokens.operations.ts';
import type { AnyOperation } from '../../src/domain/operation.ts';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { permissionNames } from '../../src/domain/permissions.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { run } from '../../src/domain/run.ts';
import { createLog } from '../../src/log.ts';
import { type ContentFile, siteFiles } from './content.ts';

/** A data directory with one project, ready for a server to be started on it. */
export interface Fixture {
  dataDir: string;
  /** Environment a server on it needs. */
  environment: Record<string, string>;
  token: string;
  /** Path of the project's studio below the server's address. */
  studio: string;
  /** Name of the repository, and where it lies. */
  repository: string;
  gitDir: string;
  files: readonly ContentFile[];
}

const names = { organization: 'bench', project: 'site' };

/** Makes a data directory with a project of so many posts, its content one commit as an import leaves it: packed. */
export async function makeFixture(root: string, posts: number): Promise<Fixture> {
  const dataDir = path.join(root, 'data');
  const environment = { PORTICO_DEMO: 'off' };
  const { config } = readConfig({ PORTICO_DATA_DIR: dataDir, ...environment });
  const log = createLog({ level: 'silent', redactHeaders: [] });
  const database = await openDatabase(config, log);
  const settings = { public_url: 'http://localhost', public_host: 'localhost' };
  const core = await openCore({ config, databaseUrl: database.url, log, settings });
  try {
    const { services } = core;
    const actor = systemActor('bench', permissionNames, 'localhost', true);
    const call = async <Op extends AnyOperation>(operation: Op, input: object): Promise<Record<string, string>> => {
      const conditions = {};
      const request = { services, actor, conditions, request_id: randomUUID(), address: null, facts: {} };
      return run(operation, { ...request, signal: new AbortController().signal }, input);
    };
    await services.git.check();
    await call(createOrganization, { name: 'Bench', machine_name: names.organization });
    const { uuid = '' } = await call(createProject, {
      organization: names.organization,
      name: 'Site',
      machine_name: names.project,
    });
    const draft = { organization: names.organization, name: 'Bench', permissions: permissionNames };
    const { token = '' } = await call(createToken, { ...draft, expires_in: 'never' });
    const files = siteFiles(posts);
    const git = services.git.open(uuid);
    await git.write({
      branch: await git.defaultBranch(),
      author: { name: 'Bench', email: 'bench@localhost' },
      plan: async () => ({ changes: files, message: 'Begin', result: null }),
    });
    const studio = `/api/v2/organizations/${names.organization}/projects/${names.project}/studio`;
    return {
      ...{ dataDir, environment, token, studio, files },
      ...{ repository: uuid, gitDir: path.join(dataDir, 'git', `${uuid}.git`) },
    };
  } finally {
    await core.close();
    await database.stop();
  }
}
