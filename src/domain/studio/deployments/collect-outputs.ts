import type { Services } from '../../../kernel/services.ts';
import { deleteInBatches } from '../../../kernel/sql.ts';
import { snapshotBlobs } from '../../crawlers/snapshots/snapshot-entries.ts';
import { deliveryBlobs } from '../../workflows/deliveries/kept-body.ts';
import { executionBlobs } from '../../workflows/executions/prune-executions.ts';
import type { StudioServices } from '../studio.ts';
import { readManifest } from './manifest.ts';

/** Deployments of an environment that can be gone back to, beside the published one and those of the last day. */
const keptPerEnvironment = 10;
const day = 24 * 3600_000;

/**
 * Drops outputs that are too old to be rolled back to. What an environment shows, and its recent outputs, stay. Rows are locked before
 * it is read which are shown: a roll-back in progress is waited for.
 */
async function forgetOld({ orm }: Services, before: Date): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    const old = await em.execute<{ id: number }[]>(
      `select id from deployment where manifest_sha256 is not null and completed_at < ?
         and not exists (select 1 from environment where published_deployment_id = deployment.id)
         and (select count(*) from deployment as newer where newer.environment_id = deployment.environment_id
           and newer.id > deployment.id and newer.manifest_sha256 is not null) >= ?
       order by id for update`,
      [before, keptPerEnvironment],
    );
    await em.execute(
      `update deployment set manifest_sha256 = null where id = any(string_to_array(?, ' ')::integer[])
         and not exists (select 1 from environment where published_deployment_id = deployment.id)`,
      [old.map(({ id }) => id).join(' ')],
    );
  });
}

/** A crash may have come between a publication and the compression of its files. */
async function encodeShown(services: StudioServices): Promise<void> {
  const shown = await services.orm.em.fork().execute<{ sha256: string }[]>(
    `select distinct manifest_sha256 as sha256 from environment
     join deployment on deployment.id = published_deployment_id where manifest_sha256 is not null`,
  );
  for (const { sha256 } of shown) services.studio.building.encodings.add(services, sha256);
}

/**
 * Removes contents that nothing holds any more: marks what is named by a kept manifest, by an entry of a snapshot or by a delivery, and sweeps the rest once
 * it has been unnamed for a day, so that nothing is lost that somebody is about to publish.
 */
export async function collectOutputs(services: StudioServices): Promise<void> {
  const { orm, blobs, clock, log } = services;
  const before = new Date(clock.now().getTime() - day);
  await forgetOld(services, before);
  const rows = await orm.em.fork().execute<{ sha256: string }[]>(
    `select manifest_sha256 as sha256 from deployment where manifest_sha256 is not null
       union select manifest_sha256 from replaced_output`,
  );
  const live = new Set<string>();
  for (const { sha256 } of rows) {
    live.add(sha256);
    // A manifest that cannot be read ends the sweep: its files would count as unreferenced.
    for (const [, file] of await readManifest(blobs, sha256)) live.add(file);
  }
  const swept = await blobs.sweep(async (prefix) => {
    // Of crawled sites there may be more than the memory holds.
    const named = await snapshotBlobs(orm.em.fork(), prefix);
    for (const sha256 of await deliveryBlobs(orm.em.fork(), prefix)) named.add(sha256);
    for (const sha256 of await executionBlobs(orm.em.fork(), prefix)) named.add(sha256);
    for (const sha256 of live) if (sha256.startsWith(prefix)) named.add(sha256);
    return named;
  }, before);
  log.info({ ...swept }, 'stored contents looked through');
  await encodeShown(services);
}

/** How long after its end a deployment keeps the logs of its jobs, and how long it is listed; days. */
const logDays = 30;
const rowDays = 365;
/** Deployments whose logs go with one statement (at most 4 MiB for each job), and rows. */
const logsAtOnce = 20;
const rowsAtOnce = 500;
/** Statements of one night; the rest waits for the next. */
const mostBatches = 500;

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

/** Deletes old logs, and then whole deployments, in batches. */
export async function pruneDeployments({ orm, clock }: Services, signal: AbortSignal): Promise<void> {
  const before = (days: number) => new Date(clock.now().getTime() - days * day);
  const limits = { most: mostBatches, signal };
  await deleteInBatches(orm, deleteLogs, [before(logDays)], limits);
  await deleteInBatches(orm, deleteRows, [before(rowDays)], limits);
}
