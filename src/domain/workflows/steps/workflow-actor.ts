import type { Actor } from '../../identity/actor.ts';
import type { Permission } from '../../permissions.ts';
import type { StepCall } from './step-call.ts';

/** A workflow as it acts: in its own name, in its own project, with what its version lists and not more. */
export function workflowActor(
  {
    workflow_id,
    organization,
    project,
    services,
  }: Pick<StepCall, 'workflow_id' | 'organization' | 'project' | 'services'>,
  permissions: readonly Permission[],
): Actor {
  const grant = {
    organization_id: organization.id,
    permissions: new Set(permissions),
    projects: new Set([project.id]),
    owner: false,
  };
  return {
    id: `workflow:${workflow_id}`,
    author: { name: 'Portico workflow', email: `workflow-${workflow_id}@${services.settings.public_host}` },
    instance_admin: false,
    organizations: [organization.id],
    grantFor: (organization_id) => (organization_id === organization.id ? grant : null),
  };
}
