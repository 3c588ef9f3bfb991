import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import type { Commit } from '../../../ports/git-records.ts';
import type { JobKind } from '../../../ports/jobs.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { holdProject } from '../../projects/project-ref.ts';
import type { Environment } from '../environments/environment.entity.ts';
import { Deployment, DeploymentJob, type DeploymentSettings, type Trigger } from './deployment.entity.ts';
import { conclude, concludeQueued, requestCancel } from './transitions.ts';

/**
 * Wakes a worker: something waits to be deployed. Which deployment is its turn is decided when the worker is free, so that projects are
 * served in turn; the rows themselves are the queue.
 */
export const deployJob = {
  name: 'deploy',
  payload: z.object({ deployment_id: z.int() }),
  retries: 3,
  expireSeconds: 2 * 3600,
} satisfies JobKind;

/** What there is to be said of a deployment that has been deleted with its environment; `secret` as it is stored, sealed. */
const deletedDeployment = z.object({
  project_id: z.int(),
  environment: z.object({ uuid: z.string(), name: z.string(), secret: z.string().nullable() }),
  branch: z.string(),
  commit_sha: z.string(),
  url: z.string().nullable(),
});
export type DeletedDeployment = z.output<typeof deletedDeployment>;

/** Notifies an external provider of a requested or cancelled deployment; retried for about an hour. */
export const deployNoticeJob = {
  name: 'deploy-notice',
  payload: z.object({
    deployment_id: z.int(),
    event: z.enum(['deployment.requested', 'deployment.cancelled']),
    deleted: deletedDeployment.optional(),
  }),
  retries: 10,
  expireSeconds: 120,
} satisfies JobKind;

interface Context {
  em: EntityManager;
  services: Services;
  project: Pick<ProjectRef, 'id'>;
}

const stages = {
  build: ['prepare', 'install', 'build', 'publish'],
  static: ['prepare', 'publish'],
  webhook: [],
} as const;

const titleLength = 200;
const titleOf = ({ message }: Commit) => (message.split('\n', 1)[0] ?? '').slice(0, titleLength);

function settingsOf(environment: Environment): DeploymentSettings {
  const { provider, root_directory, output_directory, variables, network, timeout_seconds } = environment;
  return {
    provider,
    root_directory,
    install_command: environment.install_command ?? null,
    build_command: environment.build_command ?? null,
    output_directory,
    variables,
    network,
    timeout_seconds,
    deploy_webhook_url: environment.deploy_webhook_url ?? null,
  };
}

/** Puts a job in with the transaction. A queue that is starting loses nothing: the minute's tick looks for what waits. */
async function send<P extends z.ZodType>(
  { em, services }: Pick<Context, 'em' | 'services'>,
  kind: JobKind<P>,
  payload: z.input<P>,
  group?: string,
): Promise<void> {
  try {
    await services.jobs.send(kind, payload, { em, ...(group !== undefined && { group }) });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    services.log.debug({ err: error }, 'a deployment waits for the next look');
  }
}

/** Wakes a worker, or notifies the provider, for a queued deployment. */
export async function wake(
  context: Pick<Context, 'em' | 'services'>,
  row: Pick<Deployment, 'id' | 'project_id' | 'settings'>,
): Promise<void> {
  if (row.settings.provider === 'webhook') return notify(context, row, 'deployment.requested');
  await send(context, deployJob, { deployment_id: row.id });
}

/** Queues a notification of an external provider. */
export async function notify(
  context: Pick<Context, 'em' | 'services'>,
  { id, project_id }: Pick<Deployment, 'id' | 'project_id'>,
  event: 'deployment.requested' | 'deployment.cancelled',
  deleted?: DeletedDeployment,
): Promise<void> {
  const notice = { deployment_id: id, event, ...(deleted && { deleted }) };
  const ownerSql = 'select organization_id from project where id = ?';
  const [owner] = await context.em.execute<{ organization_id: number }[]>(ownerSql, [project_id]);
  await send(context, deployNoticeJob, notice, String(owner?.organization_id));
}

/**
 * Ends a queued or running deployment: at once without a worker, otherwise as soon as its worker is notified.
 * @param deleted given when its row goes in the same transaction: what its provider is notified of
 * @returns false when it has ended before
 */
export async function stopDeployment(
  context: Pick<Context, 'em' | 'services'>,
  row: Pick<Deployment, 'id' | 'project_id' | 'settings' | 'attempt'>,
  conclusion: 'cancelled' | 'skipped',
  deleted?: DeletedDeployment,
): Promise<boolean> {
  const { em, services } = context;
  const at = services.clock.now();
  const { id, attempt } = row;
  const isExternal = row.settings.provider === 'webhook';
  const ended =
    (await concludeQueued(em, id, { conclusion, at })) ||
    (isExternal && (await conclude(em, { id, attempt }, { conclusion, at })));
  if (ended && isExternal) await notify(context, row, 'deployment.cancelled', deleted);
  return ended || requestCancel(em, id);
}

/** Makes room for a newer deployment of an environment. */
async function supersede(context: Context, environment: Environment): Promise<void> {
  const { em } = context;
  const where = { environment_id: environment.id, status: { $ne: 'completed' as const } };
  for (const older of await em.find(Deployment, where, { disableIdentityMap: true })) {
    if (older.status === 'queued') await stopDeployment(context, older, 'skipped');
    else if (environment.cancel_superseded) await stopDeployment(context, older, 'cancelled');
  }
}

/**
 * Queues a deployment of a commit, in the caller's transaction; one of the environment that still waits is skipped.
 * The environment's settings are copied: what is changed later holds for later ones, but for what a draft preview loses until it begins.
 */
export async function queueDeployment(
  context: Context,
  environment: Environment,
  { commit, trigger }: { commit: Commit; trigger: Trigger },
): Promise<Deployment> {
  const { em, services, project } = context;
  // One after another in a project, so that run numbers have no gaps and no two take one.
  await holdProject(em, project.id);
  await supersede(context, environment);
  const [last] = await em.execute<{ number: number }[]>(
    'select coalesce(max(run_number), 0) as number from deployment where project_id = ?',
    [project.id],
  );
  const row = em.create(Deployment, {
    project_id: project.id,
    environment_id: environment.id,
    run_number: (last?.number ?? 0) + 1,
    branch: environment.branch,
    commit_sha: commit.sha,
    title: titleOf(commit),
    status: 'queued',
    trigger,
    attempt: 1,
    settings: settingsOf(environment),
    cancel_requested: false,
    created_at: services.clock.now(),
  });
  await em.persist(row).flush();
  await addJobs(em, row);
  await wake(context, row);
  return row;
}

/** The jobs of a new attempt, none begun; those of an earlier one go, with their logs. */
export async function addJobs(em: EntityManager, { id, settings }: Pick<Deployment, 'id' | 'settings'>): Promise<void> {
  await em.nativeDelete(DeploymentJob, { deployment_id: id });
  const names = stages[settings.provider];
  if (names.length === 0) return;
  await em.insertMany(
    DeploymentJob,
    names.map((name, index) => ({
      deployment_id: id,
      name,
      position: index + 1,
      status: 'queued' as const,
      steps: [],
      log_size: 0,
    })),
  );
}
