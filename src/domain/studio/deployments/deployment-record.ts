import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { roomForPage } from '../../../kernel/paging.ts';
import { Environment } from '../environments/environment.entity.ts';
import { deploymentLabel, labelUrl } from '../previews/previews.ts';
import type { StudioContext } from '../studio.ts';
import { Deployment, DeploymentJob } from './deployment.entity.ts';
import type { deployment, deploymentJob, deploymentSummary } from './deployments.schema.ts';

type Record = z.output<typeof deployment>;
type JobRecord = z.output<typeof deploymentJob>;
type Context = Pick<StudioContext, 'em' | 'services' | 'organization' | 'project'>;

/** What of a deployment's row may be large, and is not shown: the variables it was given are there. */
export const withoutSettings = { exclude: ['settings'] } as const;

/** A deployment without its settings. */
export type DeploymentRow = Pick<Deployment, Exclude<keyof Deployment & string, 'settings'>>;

const date = (text: string | null) => (text === null ? null : new Date(text));

function jobRecord({ services, organization, project }: Context, job: DeploymentJob): JobRecord {
  const { id, name, status, conclusion, started_at, completed_at } = job;
  const path = `organizations/${organization.machine_name}/projects/${project.machine_name}/studio`;
  const own = `${services.settings.public_url}/api/v2/${path}/deployments/${job.deployment_id}/jobs/${id}/log`;
  const steps = job.steps.map((step) => ({
    ...step,
    started_at: date(step.started_at),
    completed_at: date(step.completed_at),
  }));
  return {
    id,
    name,
    status,
    conclusion: conclusion ?? null,
    started_at: started_at ?? null,
    completed_at: completed_at ?? null,
    log_url: job.log_url ?? own,
    steps,
  };
}

async function jobsOf(em: EntityManager, ids: readonly number[]): Promise<Map<number, DeploymentJob[]>> {
  const where = { deployment_id: { $in: [...ids] } };
  const jobs = await em.find(DeploymentJob, where, { orderBy: { position: 'asc' }, disableIdentityMap: true });
  return Map.groupBy(jobs, ({ deployment_id }) => deployment_id);
}

/** A deployment as lists show it. @param of its environment */
export function deploymentShown(
  { services }: Pick<Context, 'services'>,
  row: DeploymentRow,
  of: Pick<Environment, 'name' | 'published_deployment_id'> | undefined,
): z.output<typeof deploymentSummary> {
  const [started_at, completed_at] = [row.started_at ?? null, row.completed_at ?? null];
  return {
    id: row.id,
    run_number: row.run_number,
    environment: { id: row.environment_id, name: of?.name ?? '' },
    branch: row.branch,
    commit_sha: row.commit_sha,
    title: row.title,
    status: row.status,
    conclusion: row.conclusion ?? null,
    failure_reason: row.failure_reason ?? null,
    published: of?.published_deployment_id === row.id,
    isolation: row.isolation ?? null,
    isolation_reason: row.isolation_reason ?? null,
    url: row.url ?? (row.manifest_sha256 ? labelUrl(services.settings, deploymentLabel(row.id)) : null),
    log_url: row.log_url ?? null,
    trigger: row.trigger,
    attempt: row.attempt,
    output_digest: row.output_digest ?? null,
    warnings: row.warnings ?? [],
    created_at: row.created_at,
    started_at,
    completed_at,
    duration_ms: started_at && completed_at ? completed_at.getTime() - started_at.getTime() : null,
  };
}

/** Deployments without their jobs, in the order given. */
export async function deploymentSummaries(
  context: Pick<Context, 'em' | 'services'>,
  rows: readonly DeploymentRow[],
): Promise<z.output<typeof deploymentSummary>[]> {
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map((row) => row.environment_id))];
  const options = { fields: ['name', 'published_deployment_id'], disableIdentityMap: true } as const;
  const environments = await context.em.find(Environment, { id: { $in: ids } }, options);
  const byId = new Map(environments.map((row) => [row.id, row]));
  return rows.map((row) => deploymentShown(context, row, byId.get(row.environment_id)));
}

async function recordsOf(context: Context, rows: readonly DeploymentRow[]): Promise<Record[]> {
  if (rows.length === 0) return [];
  const summaries = await deploymentSummaries(context, rows);
  const jobs = await jobsOf(
    context.em,
    rows.map(({ id }) => id),
  );
  return summaries.map((summary) => ({
    ...summary,
    jobs: (jobs.get(summary.id) ?? []).map((job) => jobRecord(context, job)),
  }));
}

/** Deployments as callers see them, in the order given, when room has been taken for their jobs. @throws like `roomForPage` */
export async function deploymentRecords(
  context: Context & Pick<StudioContext, 'room'>,
  rows: readonly DeploymentRow[],
): Promise<Record[]> {
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0)
    await roomForPage(context, { table: 'deployment_job', column: 'steps', key: 'deployment_id' }, ids);
  return recordsOf(context, rows);
}

/** One deployment as callers see it. */
export async function deploymentRecord(context: Context, row: DeploymentRow): Promise<Record> {
  const [record] = await recordsOf(context, [row]);
  return record as Record;
}

const unknown = (id: number) => new DomainError('not_found', `Deployment ${id} not found`);

/** @throws DomainError `not_found` */
export async function findDeployment(
  { em, project }: Pick<Context, 'em' | 'project'>,
  id: number,
): Promise<Deployment> {
  const row = await em.findOne(Deployment, { id, project_id: project.id }, { refresh: true });
  if (row) return row;
  throw unknown(id);
}

/** The same without its settings, for what does not go by them. @throws DomainError `not_found` */
export async function locateDeployment(
  { em, project }: Pick<Context, 'em' | 'project'>,
  id: number,
): Promise<DeploymentRow> {
  const row = await em.findOne(Deployment, { id, project_id: project.id }, { refresh: true, ...withoutSettings });
  if (row) return row;
  throw unknown(id);
}
