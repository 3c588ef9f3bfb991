import { randomUUID } from 'node:crypto';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { createToken } from '../../src/domain/identity/tokens.operations.ts';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import type { AllServices } from '../../src/domain/services.ts';
import { permissionNames, systemActor } from '../../src/kernel/actor.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { run } from '../../src/kernel/run.ts';
import { readConfig } from '../../src/server/config.ts';
import { openCore } from '../../src/server/core.ts';
import { openDatabase } from '../../src/server/database.ts';
import { createLog } from '../../src/server/log.ts';
import type { Repository } from './repositories.ts';

/** One project, and where a server has it. */
export interface Project {
  /** Path of its studio below the server's address. */
  studio: string;
  /** Path of its repository for git clients. */
  gitPath: string;
  /** Name of the repository, and where it lies. */
  repository: string;
  gitDir: string;
}

/** A data directory ready for a server to be started on it. */
export interface Fixture<Name extends string> {
  dataDir: string;
  /** Environment a server on it needs. */
  environment: Record<string, string>;
  token: string;
  projects: Record<Name, Project>;
}

const organization = 'bench';

/** Gives an empty repository the content of another. */
async function fill(gitDir: string, { gitDir: source }: Repository): Promise<void> {
  for (const part of ['objects', 'packed-refs']) {
    await cp(path.join(source, part), path.join(gitDir, part), { recursive: true });
  }
}

/**
 * Makes a data directory with a project for each repository, by name; the database is as new as the service's own.
 * @param more makes what else is wanted
 */
export async function makeFixture<Name extends string>(
  root: string,
  repositories: Record<Name, Repository>,
  more?: (services: AllServices) => Promise<void>,
): Promise<Fixture<Name>> {
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
    await call(createOrganization, { name: 'Bench', machine_name: organization });
    const draft = { organization, name: 'Bench', permissions: permissionNames };
    const { token = '' } = await call(createToken, { ...draft, expires_in: 'never' });
    const make = async ([name, source]: [string, Repository]): Promise<[string, Project]> => {
      const { uuid = '' } = await call(createProject, { organization, name, machine_name: name });
      const gitDir = path.join(dataDir, 'git', `${uuid}.git`);
      await fill(gitDir, source);
      const studio = `/api/v2/organizations/${organization}/projects/${name}/studio`;
      return [name, { studio, gitPath: `/git/${organization}/${name}.git`, repository: uuid, gitDir }];
    };
    const projects: [string, Project][] = [];
    for (const each of Object.entries<Repository>(repositories)) projects.push(await make(each));
    await more?.(services);
    return { dataDir, environment, token, projects: Object.fromEntries(projects) as Record<Name, Project> };
  } finally {
    await core.close();
    await database.stop();
  }
}
