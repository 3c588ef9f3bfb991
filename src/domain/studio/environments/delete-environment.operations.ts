import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { holdProject } from '../../projects/hold-project.ts';
import { Deployment } from '../deployments/deployment.entity.ts';
import { stopDeployment } from '../deployments/queue-deployment.ts';
import { Environment } from './environment.entity.ts';
import { findEnvironment } from './environment-record.ts';
import { environmentNumber } from './environments.schema.ts';

export const deleteEnvironment = projectOperation({
  name: 'studio.deleteEnvironment',
  kind: 'command',
  permission: 'manage_studio',
  destructive: true,
  summary: 'Delete an environment with its deployments, and unpublish it',
  input: z.object({
    ...environmentNumber,
    force: z.boolean().default(false).describe('Cancel a queued or running deployment'),
  }),
  output: z.null(),
  audit: ({ environment }) => ({ type: 'environment', id: String(environment) }),
  async execute(context, { environment: id, force }) {
    const { em, project } = context;
    await holdProject(em, project.id);
    const row = await findEnvironment(context, id);
    if (row.protected) throw new DomainError('protected', `Environment ${row.name} is protected: unprotect it first`);
    const open = await em.find(Deployment, { environment_id: id, status: { $ne: 'completed' } });
    if (open.length > 0 && !force)
      throw new DomainError('in_use', `Environment ${row.name} is being deployed to; force cancels that`, {
        details: { deployments: open.map((deployment) => deployment.id) },
      });
    const environment = { uuid: row.uuid, name: row.name, secret: row.deploy_hook_secret ?? null };
    for (const deployment of open) {
      const { branch, commit_sha, settings } = deployment;
      const deleted = { project_id: project.id, environment, branch, commit_sha, url: settings.deploy_webhook_url };
      await stopDeployment(context, deployment, 'cancelled', deleted);
    }
    // A worker whose deployment has gone ends what it runs, as one that was cancelled.
    await em.nativeDelete(Environment, { id });
    return null;
  },
});
