import { randomUUID } from 'node:crypto';
import { DomainError } from '../../errors.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { holdProject } from '../../projects/hold-project.ts';
import { queueDeployment } from '../deployments/queue-deployment.ts';
import { headOf } from '../merge/write-merge.ts';
import { checkRefName } from '../ref-name.ts';
import { buildDefaults } from './build-defaults.ts';
import { checkProvider } from './check-provider.ts';
import { Environment } from './environment.entity.ts';
import { checkNameIsFree } from './environment-name.ts';
import { environmentRecord } from './environment-record.ts';
import { freeSlug, slugFrom } from './environment-slug.ts';
import { environmentDraft, maxEnvironments, savedEnvironment } from './environments.schema.ts';
import { newHookSecret, sealHookSecret } from './hook-secret.ts';
import { sealVariables } from './variables.ts';

const usual = {
  network: 'full',
  timeout_seconds: 900,
  auto_deploy: true,
  cancel_superseded: false,
  visibility: 'members',
  protected: false,
} as const;

/**
 * Holds the project's row until the transaction ends, so that names are taken one after another.
 * @returns a slug nobody has
 * @throws DomainError `already_exists`, `limit_reached`
 */
async function takeName({ em, project }: Pick<ProjectContext, 'em' | 'project'>, name: string): Promise<string> {
  await holdProject(em, project.id);
  const others = await em.find(Environment, { project_id: project.id }, { fields: ['name', 'slug'] });
  checkNameIsFree(name, others);
  if (others.length >= maxEnvironments)
    throw new DomainError('limit_reached', `A project has at most ${maxEnvironments} environments; delete one first`);
  return freeSlug(slugFrom(name), new Set(others.map(({ slug }) => slug)));
}

export const createEnvironment = projectOperation({
  name: 'studio.createEnvironment',
  kind: 'command',
  permission: 'manage_studio',
  fresh: true,
  summary: 'Create an environment, and deploy to it unless auto_deploy is off',
  input: environmentDraft,
  output: savedEnvironment,
  audit: (_input, output) => ({ type: 'environment', id: output ? String(output.id) : null }),
  async execute(context, { name, branch, variables, ...draft }) {
    const { em, git, services, project } = context;
    const head = await headOf(context, 'branch', checkRefName('branch', branch));
    const build = await buildDefaults(context, head, draft as never);
    const type = draft.type ?? (branch === (await git.defaultBranch()) ? 'production' : 'preview');
    const slug = await takeName(context, name);
    const now = services.clock.now();
    const uuid = randomUUID();
    const row = em.create(Environment, {
      ...usual,
      ...Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined)),
      ...build,
      uuid,
      project_id: project.id,
      name,
      slug,
      branch,
      type,
      variables: await sealVariables(services, project, { uuid, version: 1, variables: [] }, variables ?? []),
      version: 1,
      created_at: now,
      updated_at: now,
    });
    checkProvider(row);
    const deploy_hook_secret = row.provider === 'webhook' ? newHookSecret() : null;
    if (deploy_hook_secret !== null)
      row.deploy_hook_secret = await sealHookSecret(services, project, uuid, deploy_hook_secret);
    if (row.auto_deploy) row.followed_sha = head;
    await em.persist(row).flush();
    if (row.auto_deploy) await queueDeployment(context, row, { commit: await git.commit(head), trigger: 'manual' });
    return { ...(await environmentRecord(context, row)), deploy_hook_secret };
  },
});
