import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import { hashToken, runToken } from '../../identity/token-text.ts';
import { generationOfProject } from '../../notifications/generation.ts';
import { type SendResult, send, signedHeaders } from '../../notifications/send.ts';
import { Organization } from '../../organizations/organization.entity.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { loadProject } from '../../projects/project-ref.ts';
import { Environment } from '../environments/environment.entity.ts';
import { openHookSecret } from '../environments/environment-secrets.ts';
import { Deployment } from './deployment.entity.ts';
import type { DeletedDeployment, deployNoticeJob } from './queue-deployment.ts';
import { concludeQueued } from './transitions.ts';

type Notice = z.output<typeof deployNoticeJob.payload>;

/** Permanent failures, in words for the deployment's warning. */
const refusals: Readonly<Record<string, string>> = {
  blocked_address: 'deploy_webhook_url leads to an address that this server must not call',
  invalid_url: 'deploy_webhook_url is no address that can be called',
  invalid_headers: 'the call could not be written',
};

const said = ({ status, error }: SendResult) => (status === null ? `${error}` : `it answered ${status}`);

/** The receiver says that it is gone for good (RFC 9110 15.5.11). */
const gone = 410;

/** A deployment as its provider is notified of it. */
interface NoticeDetails extends Pick<DeletedDeployment, 'environment' | 'branch' | 'commit_sha' | 'url'> {
  project: ProjectRef;
  organization: Organization;
  /** Null when it has been deleted. */
  row: Deployment | null;
}

async function load(em: EntityManager, { deployment_id, deleted }: Notice): Promise<NoticeDetails | null> {
  const row = await em.findOne(Deployment, deployment_id);
  const kept = row ? await keptDeployment(em, row) : deleted;
  const project = kept && (await loadProject(em, { id: kept.project_id }));
  if (!kept || !project) return null;
  return { ...kept, row, project, organization: await em.findOneOrFail(Organization, project.organization_id) };
}

async function keptDeployment(em: EntityManager, row: Deployment): Promise<DeletedDeployment | null> {
  const environment = await em.findOne(Environment, row.environment_id);
  if (!environment) return null;
  const { uuid, name, deploy_hook_secret } = environment;
  const { project_id, branch, commit_sha, settings } = row;
  const secret = deploy_hook_secret ?? null;
  return { project_id, environment: { uuid, name, secret }, branch, commit_sha, url: settings.deploy_webhook_url };
}

/**
 * Notifies an external provider of a requested deployment, with a token for reports on it, or of its cancellation.
 * @throws DomainError for what may be better at another time; what never will be ends the deployment instead
 */
export async function notifyProvider(services: Services, notice: Notice, signal: AbortSignal): Promise<void> {
  const { deployment_id, event } = notice;
  const em = services.orm.em.fork();
  const loaded = await load(em, notice);
  if (!loaded) return;
  const { row, project, environment, organization, url } = loaded;
  if ((event === 'deployment.requested' && row?.status === 'completed') || !url) return;
  const fail = (why: string) =>
    em.transactional(async (within) => {
      const at = services.clock.now();
      const ending = { conclusion: 'failure', reason: 'provider_error', at } as const;
      if (!(await concludeQueued(within, deployment_id, ending))) return;
      const warnings = [{ code: 'provider_not_notified', message: `The provider was not notified: ${why}` }];
      await within.nativeUpdate(Deployment, { id: deployment_id }, { warnings });
    });
  if (!environment.secret) return fail('the environment has no secret to sign with');
  const secret = await openHookSecret(services, project, environment.uuid, environment.secret);
  const report_token = row && runToken(secret, `deployment:${row.id}:${row.attempt}`);
  if (report_token) {
    await em.nativeUpdate(Deployment, { id: deployment_id }, { report_token_hash: hashToken(report_token) });
  }
  const { public_url } = services.settings;
  const path = `organizations/${organization.machine_name}/projects/${project.machine_name}`;
  const body = JSON.stringify({
    event,
    deployment_id,
    environment: environment.name,
    branch: loaded.branch,
    commit_sha: loaded.commit_sha,
    repository_url: `${public_url}/git/${organization.machine_name}/${project.machine_name}.git`,
    report_url: `${public_url}/api/v2/${path}/studio/deployments/${deployment_id}`,
    ...(event === 'deployment.requested' && { report_token }),
  });
  const id = `msg_${deployment_id}_${event.split('.')[1]}`;
  const now = services.clock.now();
  const headers = {
    ...signedHeaders({ secret, id, version: services.settings.version }, body, now),
    ...(await generationOfProject(em, project.id, now)),
  };
  const result = await send(services, url, { headers, body, signal });
  const refusal = result.status === gone ? said(result) : refusals[result.error ?? ''];
  if (refusal !== undefined) return fail(refusal);
  if (result.error !== null)
    throw new DomainError('upstream_unavailable', `The provider was not notified: ${said(result)}`);
}
