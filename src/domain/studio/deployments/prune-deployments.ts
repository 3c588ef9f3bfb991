import { removeByShares } from '../../remove-by-shares.ts';
import type { Services } from '../../services.ts';

const day = 24 * 3600_000;
/** How long after its end a deployment keeps the logs of its jobs, and how long it is listed; days. */
const logDays = 30;
const rowDays = 365;
/** Deployments whose logs go with one statement (at most 4 MiB for each job), and rows. */
const logsAtOnce = 20;
const rowsAtOnce = 500;
/** Statements of one night; the rest waits for the next. */
const mostTurns = 500;

/** What is shown, or can be gone back to, stays whole however old it is. */
const isNobodys = `run.completed_at < ? and run.manifest_sha256 is null
  and not exists (select 1 from environment where published_deployment_id = run.id)`;

const deleteLogs = `
  with old as (
    select run.id from deployment as run where ${isNobodys}
      and exists (select 1 from deployment_job as job join deployment_log on job_id = job.id where job.deployment_id = run.id)
    limit ${logsAtOnce})
  delete from deployment_log using deployment_job as job, old where job_id = job.id and job.deployment_id = old.id`;

/** The newest of an environment tells how it stands, and from the newest of all the next one takes its number. */
const deleteRows = `
  delete from deployment where id in (
    select run.id from deployment as run where ${isNobodys}
      and exists (select 1 from deployment as newer where newer.environment_id = run.environment_id and newer.id > run.id)
    limit ${rowsAtOnce})`;

/** Removes logs, and then whole deployments, that have been kept long enough; in small steps, so that nobody waits for one. */
export async function pruneDeployments({ orm, clock }: Services, signal: AbortSignal): Promise<void> {
  const before = (days: number) => new Date(clock.now().getTime() - days * day);
  const shares = { most: mostTurns, signal };
  await removeByShares(orm, deleteLogs, [before(logDays)], shares);
  await removeByShares(orm, deleteRows, [before(rowDays)], shares);
}
