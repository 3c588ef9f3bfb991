import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { localStudioOperation } from '../studio-operation.ts';
import { type Deployment, DeploymentJob, statuses } from './deployment.entity.ts';
import { deploymentRecord, findDeployment, locateDeployment } from './deployment-record.ts';
import { deployment, deploymentReport, mostOfJobs } from './deployments.schema.ts';
import { conclude, publishReported } from './transitions.ts';

type Report = z.output<typeof deploymentReport>;
type Reported = Pick<Report, 'status' | 'conclusion'>;

/** What a report says of the state: a conclusion alone means that it is completed. */
function stateOf({ status, conclusion }: Reported, field: string) {
  const said = status ?? (conclusion === undefined ? undefined : 'completed');
  if (said === 'completed' && conclusion === undefined)
    throw fieldError('invalid_request', field, 'is required with status completed');
  if (said !== 'completed' && conclusion !== undefined)
    throw fieldError('invalid_request', field, 'goes with status completed only');
  return { status: said ?? ('queued' as const), conclusion: conclusion ?? null };
}

/** Bytes that a row of a job holds. */
const sizeOf = ({ name, log_url, steps }: DeploymentJob) =>
  Buffer.byteLength(name) + (log_url?.length ?? 0) + Buffer.byteLength(JSON.stringify(steps));

/** Replaces the jobs by the reported ones; times are of the first report of a state. @throws DomainError `too_large` */
async function storeJobs(em: EntityManager, id: number, jobs: NonNullable<Report['jobs']>, now: Date): Promise<void> {
  const before = await em.find(DeploymentJob, { deployment_id: id }, { orderBy: { position: 'asc' } });
  const rows = new Set(before);
  for (const [index, job] of jobs.entries()) {
    const state = stateOf(job, `jobs.${index}.conclusion`);
    const row =
      before[index] ??
      em.create(DeploymentJob, {
        deployment_id: id,
        position: index + 1,
        name: job.name,
        status: 'queued',
        steps: [],
        log_size: 0,
      });
    if (row.status === 'completed' || statuses.indexOf(state.status) < statuses.indexOf(row.status)) continue;
    em.assign(row, {
      ...state,
      name: job.name,
      log_url: job.log_url ?? row.log_url ?? null,
      started_at: row.started_at ?? (state.status === 'queued' ? null : now),
      completed_at: state.status === 'completed' ? now : null,
      steps: job.steps.map((step, place) => ({
        number: place + 1,
        name: step.name,
        ...stateOf(step, `jobs.${index}.steps.${place}.conclusion`),
        started_at: null,
        completed_at: null,
        exit_code: step.exit_code ?? null,
      })),
    });
    em.persist(row);
    rows.add(row);
  }
  // Also of jobs of earlier reports, which remain.
  const bytes = [...rows].reduce((sum, row) => sum + sizeOf(row), 0);
  if (bytes > mostOfJobs)
    throw fieldError(
      'too_large',
      'jobs',
      `hold ${bytes} bytes, at most ${mostOfJobs}; report fewer steps or shorter names`,
    );
  await em.flush();
}

/** Whether a report tells of something later than what is known. */
const isNews = (row: Deployment, status: Deployment['status']) =>
  row.status !== 'completed' && statuses.indexOf(status) >= statuses.indexOf(row.status);

export const reportDeployment = localStudioOperation({
  name: 'studio.reportDeployment',
  kind: 'command',
  permission: 'run_token',
  summary: 'Report the status of a deployment by an external provider',
  input: deploymentReport,
  output: deployment,
  audit: (input) => ({ type: 'deployment', id: String(input.deployment) }),
  async execute(context, report) {
    const { em, actor, services } = context;
    if (actor.run !== undefined && actor.run !== report.deployment)
      throw new DomainError('forbidden', 'This token is for another deployment');
    const state = stateOf(report, 'conclusion');
    await em.execute('select id from deployment where id = ? for update', [report.deployment]);
    const row = await findDeployment(context, report.deployment);
    if (row.settings.provider !== 'webhook')
      throw fieldError('validation_failed', 'deployment', 'is not made by an external provider');
    // A report that was overtaken by a later one says nothing new.
    const status = report.status === undefined && report.conclusion === undefined ? row.status : state.status;
    if (!isNews(row, status)) return deploymentRecord(context, row);
    const at = services.clock.now();
    em.assign(row, {
      url: report.url ?? row.url ?? null,
      log_url: report.log_url ?? row.log_url ?? null,
      heartbeat_at: at,
    });
    if (status !== 'queued' && row.status === 'queued') em.assign(row, { status: 'in_progress', started_at: at });
    await em.flush();
    if (report.jobs) await storeJobs(em, row.id, report.jobs, at);
    const { conclusion } = state;
    if (conclusion === 'success') await publishReported(em, row, at);
    else if (conclusion !== null)
      await conclude(em, row, {
        conclusion,
        at,
        ...(conclusion === 'failure' && { reason: 'provider_error' as const }),
      });
    em.clear();
    return deploymentRecord(context, await locateDeployment(context, row.id));
  },
});
