import { LockMode } from '@mikro-orm/core';
import { defined } from '../../defined.ts';
import { fieldError } from '../../errors.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { holdProject } from '../../projects/hold-project.ts';
import { Deployment } from '../deployments/deployment.entity.ts';
import { headOf } from '../merge/write-merge.ts';
import { checkRefName } from '../ref-name.ts';
import { checkProvider } from './check-provider.ts';
import { Environment } from './environment.entity.ts';
import { checkNameIsFree } from './environment-name.ts';
import { environmentRecord, findEnvironment } from './environment-record.ts';
import { environmentChange, savedEnvironment } from './environments.schema.ts';
import { newHookSecret, sealHookSecret } from './hook-secret.ts';
import { sealVariables } from './variables.ts';

type Context = Pick<ProjectContext, 'em' | 'git' | 'services' | 'project'>;

/** @throws DomainError `already_exists` */
async function checkName({ em, project }: Context, { id }: Environment, name: string): Promise<void> {
  checkNameIsFree(name, await em.find(Environment, { project_id: project.id, id: { $ne: id } }, { fields: ['name'] }));
}

/** @throws DomainError `not_found`, and `validation_failed` for a deployment that has nothing to show (any more) */
async function checkPublishable({ em }: Context, { id }: Environment, deployment: number): Promise<void> {
  // Held until it is shown: what nobody shows may be let go of.
  const held = { refresh: true, lockMode: LockMode.PESSIMISTIC_READ } as const;
  const row = await em.findOne(Deployment, { id: deployment, environment_id: id }, held);
  if (!row)
    throw fieldError('not_found', 'published_deployment_id', `deployment ${deployment} is not of this environment`);
  if (row.conclusion === 'success' && row.manifest_sha256) return;
  const problem = row.conclusion === 'success' ? 'its files are not kept any more' : 'it has not succeeded';
  throw fieldError('validation_failed', 'published_deployment_id', `${problem}; run it again instead`);
}

export const updateEnvironment = projectOperation({
  name: 'studio.updateEnvironment',
  kind: 'command',
  permission: 'manage_studio',
  fresh: true,
  summary: 'Change an environment, or publish another of its deployments',
  input: environmentChange,
  output: savedEnvironment,
  audit: ({ environment }) => ({ type: 'environment', id: String(environment) }),
  async execute(context, { environment: id, variables, published_deployment_id, ...change }) {
    const { em, services, project } = context;
    await holdProject(em, project.id);
    const row = await findEnvironment(context, id);
    if (change.name !== undefined && change.name !== row.name) await checkName(context, row, change.name);
    if (change.branch !== undefined) await headOf(context, 'branch', checkRefName('branch', change.branch));
    if (published_deployment_id != null) await checkPublishable(context, row, published_deployment_id);
    const version = row.version + 1;
    const sealed = variables && (await sealVariables(services, project, { ...row, version }, variables));
    em.assign(row, {
      ...defined({ ...change, published_deployment_id, variables: sealed }),
      version,
      updated_at: services.clock.now(),
    });
    checkProvider(row);
    const secret = row.provider === 'webhook' && !row.deploy_hook_secret ? newHookSecret() : null;
    if (secret !== null) row.deploy_hook_secret = await sealHookSecret(services, project, row.uuid, secret);
    await em.flush();
    return { ...(await environmentRecord(context, row)), deploy_hook_secret: secret };
  },
});
