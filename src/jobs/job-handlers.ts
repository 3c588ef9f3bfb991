import { randomUUID } from 'node:crypto';
import { beginWork, takeUpRuns } from '../domain/crawlers/crawl/work-on-run.ts';
import { crawlJob } from '../domain/crawlers/runs/queue-run.ts';
import { snapshotImportJob } from '../domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import { writeImport } from '../domain/crawlers/snapshots/import/write-import.operations.ts';
import { deliver } from '../domain/notifications/deliver.ts';
import { notifyJob } from '../domain/notifications/notify.ts';
import { loadProject } from '../domain/projects/project-ref.ts';
import type { AllServices } from '../domain/services.ts';
import { notifyProvider } from '../domain/studio/deployments/notify-provider.ts';
import { deployJob, deployNoticeJob } from '../domain/studio/deployments/queue-deployment.ts';
import { workOnDeployments } from '../domain/studio/deployments/run/work.ts';
import { importJob, importRepository } from '../domain/studio/repository/import-repository.ts';
import { openAuth } from '../domain/studio/upstream/remote.ts';
import { syncJob } from '../domain/studio/upstream/upstream-sync.ts';
import { advanceJob } from '../domain/workflows/advance-job.ts';
import { systemActor } from '../kernel/actor.ts';
import { DomainError } from '../kernel/errors.ts';
import { run } from '../kernel/run.ts';
import type { BatchJob, Job } from './queue.ts';

/** How often a process looks for runs without a worker; milliseconds. */
const lookEvery = 3_000;

/**
 * Jobs of a kind that connects to other hosts: so many at once in a process. A host may take minutes to answer; those of one group, which
 * is an organisation, leave room for others.
 */
const outgoing = { concurrency: 8, perGroup: 2 } as const;

/** Begins to work on a run at once. Its row, not the job, says whether somebody works on it, so a job that is lost costs only a look. */
export function crawlJobFor(services: AllServices): Job<typeof crawlJob.payload> {
  return {
    kind: crawlJob,
    concurrency: 2,
    async handle({ run_id }) {
      beginWork(services, run_id);
    },
  };
}

/** Looks from time to time for runs whose worker is gone. @returns how to end it */
export function lookForRuns(services: AllServices): () => void {
  const timer = setInterval(() => {
    takeUpRuns(services).catch((err: unknown) => services.log.debug({ err }, 'runs of crawlers not looked at'));
  }, lookEvery);
  return () => clearInterval(timer);
}

/** Tells an external provider; what fails is tried again by the queue. */
export function deployNoticeJobFor(services: AllServices): Job<typeof deployNoticeJob.payload> {
  return { kind: deployNoticeJob, ...outgoing, handle: (notice, signal) => notifyProvider(services, notice, signal) };
}

/** Runs the deployment whose turn it is, and looks for another one afterwards. `slots` run at the same time. */
export function deployJobFor(services: AllServices, slots: number): Job<typeof deployJob.payload> {
  return {
    kind: deployJob,
    concurrency: slots,
    async handle() {
      const deployment_id = await workOnDeployments(services);
      if (deployment_id !== null) await services.jobs.send(deployJob, { deployment_id });
    },
  };
}

/** Fetches the upstream a caller named. What the caller did wrong is kept on the project and not tried again. */
export function importJobFor(services: AllServices): Job<typeof importJob.payload> {
  return {
    kind: importJob,
    ...outgoing,
    async handle({ project_id, attempt, url, credentials, branches }, signal) {
      const project = await loadProject(services.orm.em.fork(), { id: project_id });
      if (!project) return;
      try {
        const auth = await openAuth(services, project, 'import', 1, credentials);
        await importRepository(
          services,
          project_id,
          { url, kind: auth.kind === 'ssh_key' ? 'ssh' : 'https', auth, ...(branches && { branches }) },
          { attempt, signal },
        );
        if (project.is_mirror) services.studio.upstreams.notice(project);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        services.log.warn({ err: error, project_id }, 'import failed');
      }
    },
  };
}

/** Tries deliveries of notifications. */
export function notifyJobFor(services: AllServices): Job<typeof notifyJob.payload> {
  return {
    kind: notifyJob,
    ...outgoing,
    handle: ({ notification_id }, signal) => deliver(services, notification_id, signal),
  };
}

const placeSql = `
  select organization.machine_name as organization, project.machine_name as project
  from snapshot_import join crawler on crawler.id = crawler_id join project on project.id = project_id and project.deleted_at is null
    join organization on organization.id = organization_id
  where snapshot_import.id = ?`;

/** Copies snapshots into branches, those of an organisation one at a time. An import whose project is gone is left. */
export function snapshotImportJobFor(services: AllServices): Job<typeof snapshotImportJob.payload> {
  return {
    kind: snapshotImportJob,
    concurrency: 4,
    perGroup: 1,
    async handle({ import_id }, signal) {
      const [place] = await services.orm.em
        .fork()
        .execute<{ organization: string; project: string }[]>(placeSql, [import_id]);
      if (!place) return;
      const actor = systemActor('import', ['browse_crawlers', 'manage_studio'], services.settings.public_host);
      const call = { services, actor, conditions: {}, signal, request_id: randomUUID(), address: null, facts: {} };
      await run(writeImport, call, { ...place, import_id });
    },
  };
}

/** Brings a project in step with its upstream. What fails is tried again; a project that is gone, or mirrors nothing any more, is left. */
export function syncJobFor(services: AllServices): Job<typeof syncJob.payload> {
  return {
    kind: syncJob,
    ...outgoing,
    async handle({ project_id }, signal) {
      const project = await loadProject(services.orm.em.fork(), { id: project_id });
      if (!project?.is_mirror) return;
      try {
        await services.studio.upstreams.run(project, {
          fetch: true,
          push: 'as_set',
          branches: null,
          resolutions: null,
          signal,
        });
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'not_found') throw error;
      }
    },
  };
}

/** Executions that are taken up together. */
const batch = 100;

/**
 * Takes executions up. The job is done when they are taken: from there on their rows say who advances them, so that one which waits on the
 * outside keeps no other from beginning.
 */
export function workflowAdvanceJobFor({ workflows }: AllServices): BatchJob<typeof advanceJob.payload> {
  return {
    kind: advanceJob,
    batch,
    concurrency: 3,
    handleAll: (payloads) => workflows.engine.advance(payloads.map(({ execution_id }) => execution_id)),
  };
}
