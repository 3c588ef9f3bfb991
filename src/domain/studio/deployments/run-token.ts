import type { Actor } from '../../../kernel/actor.ts';
import type { Ports } from '../../../kernel/services.ts';
import { hashToken } from '../../identity/token-text.ts';

/** Who presents the token of a run: may report on it until it is completed, and nothing else. Null when there is no such run (any more). */
export async function authenticateRun(
  { orm, settings }: Pick<Ports, 'orm' | 'settings'>,
  token: string,
): Promise<Actor | null> {
  const [row] = await orm.em.fork().execute<{ id: number; project_id: number; organization_id: number }[]>(
    `select deployment.id, project_id, organization_id from deployment join project on project.id = project_id
     where report_token_hash = ? and status <> 'completed'`,
    [hashToken(token)],
  );
  if (!row) return null;
  const { id, project_id, organization_id } = row;
  const grant = { organization_id, permissions: new Set<never>(), projects: new Set([project_id]), owner: false };
  return {
    id: `run:${id}`,
    author: { name: `Deployment ${id}`, email: `deployment-${id}@${settings.public_host}` },
    instance_admin: false,
    run: id,
    organizations: [organization_id],
    grantFor: (organization) => (organization === organization_id ? grant : null),
  };
}
