import { createHmac } from 'node:crypto';
import type { z } from 'zod';
import { DomainError } from '../../../errors.ts';
import { hashToken, runToken } from '../../../identity/token-text.ts';
import { Organization } from '../../../organizations/organization.entity.ts';
import { loadProject } from '../../../projects/project-ref.ts';
import type { Services } from '../../../services.ts';
import { Environment } from '../../environments/environment.entity.ts';
import { openHookSecret } from '../../environments/hook-secret.ts';
import type { deployNoticeJob } from '../deploy-job.ts';
import { Deployment } from '../deployment.entity.ts';
import { concludeQueued } from '../transitions.ts';

type Notice = z.output<typeof deployNoticeJob.payload>;

const timeouts = { connect: 5_000, headers: 15_000, idle: 15_000, total: 15_000 };
/** The receiver says that it is gone for good (RFC 9110 15.5.11). */
const gone = 410;

async function load({ orm }: Services, id: number) {
  const em = orm.em.fork();
  const row = await em.findOne(Deployment, id);
  const project = row && (await loadProject(em, { id: row.project_id }));
  const environment = row && (await em.findOne(Environment, row.environment_id));
  if (!row || !project || !environment) return null;
  const organization = await em.findOneOrFail(Organization, project.organization_id);
  return { em, row, project, environment, organization };
}

/** Headers of Standard Webhooks: id, time in Unix seconds, and the HMAC-SHA-256 of both with the body. */
function signed(secret: string, id: string, body: string, now: Date): Record<string, string> {
  const timestamp = Math.floor(now.getTime() / 1000);
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Portico-Webhooks',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}

/**
 * Tells an external provider that a deployment is asked for, with a token for reports on it, or that it is not wanted any more.
 * @throws DomainError for what may be better at another time; what never will be ends the deployment instead
 */
export async function tellProvider(
  services: Services,
  { deployment_id, event }: Notice,
  signal: AbortSignal,
): Promise<void> {
  const found = await load(services, deployment_id);
  if (!found) return;
  const { em, row, project, environment, organization } = found;
  const url = row.settings.deploy_webhook_url;
  if ((event === 'deployment.requested' && row.status === 'completed') || !url) return;
  const fail = async () => {
    const at = services.clock.now();
    await concludeQueued(em, row.id, { conclusion: 'failure', reason: 'provider_error', at });
  };
  if (!environment.deploy_hook_secret) return fail();
  const secret = await openHookSecret(services, project, environment.uuid, environment.deploy_hook_secret);
  const report_token = runToken(secret, `deployment:${row.id}:${row.attempt}`);
  await em.nativeUpdate(Deployment, { id: row.id }, { report_token_hash: hashToken(report_token) });
  const { public_url } = services.settings;
  const path = `organizations/${organization.machine_name}/projects/${project.machine_name}`;
  const body = JSON.stringify({
    event,
    deployment_id: row.id,
    environment: environment.name,
    branch: row.branch,
    commit_sha: row.commit_sha,
    repository_url: `${public_url}/git/${organization.machine_name}/${project.machine_name}.git`,
    report_url: `${public_url}/api/v2/${path}/studio/deployments/${row.id}`,
    ...(event === 'deployment.requested' && { report_token }),
  });
  const headers = signed(secret, `msg_${row.id}_${event.split('.')[1]}`, body, services.clock.now());
  const status = await post(services, url, { headers, body, signal });
  if (status === 'refused' || status === gone) return fail();
  if (status < 200 || status >= 300)
    throw new DomainError('upstream_unavailable', `The provider answered a notification with ${status}`);
}

/** @returns the status, or `refused` for an address that may not be reached */
async function post(
  { http }: Services,
  url: string,
  request: { headers: Record<string, string>; body: string; signal: AbortSignal },
): Promise<number | 'refused'> {
  try {
    const response = await http.request(url, { ...request, method: 'POST', policy: {}, timeouts });
    response.discard();
    return response.status;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'invalid_request') return 'refused';
    throw error;
  }
}
