import { takeUpAllRuns, takeUpRuns } from '../domain/crawlers/crawl/work-on-run.ts';
import { crawlJob } from '../domain/crawlers/runs/queue-run.ts';
import { snapshotImportJob } from '../domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import { notifyJob } from '../domain/notifications/notify.ts';
import type { AllServices } from '../domain/services.ts';
import { deployJob, deployNoticeJob } from '../domain/studio/deployments/queue-deployment.ts';
import { recoverDeployments } from '../domain/studio/deployments/run/work.ts';
import { importJob } from '../domain/studio/repository/import-repository.ts';
import { syncJob } from '../domain/studio/upstream/upstream-sync.ts';
import { advanceJob } from '../domain/workflows/advance-job.ts';
import { abandonAll } from '../domain/workflows/engine/workers.ts';
import { beginSchedules, beginWorkflowClock } from '../jobs/clock.ts';
import {
  crawlJobFor,
  deployJobFor,
  deployNoticeJobFor,
  importJobFor,
  lookForRuns,
  notifyJobFor,
  snapshotImportJobFor,
  syncJobFor,
  workflowAdvanceJobFor,
} from '../jobs/job-handlers.ts';
import { scheduleUpkeep } from '../jobs/upkeep.ts';
import type { Config } from './config.ts';
import type { Core } from './core.ts';

/** Logs how the builds of this process are kept apart from it, or why nothing is built. */
export async function logIsolation({ deployer, log }: AllServices): Promise<void> {
  try {
    const isolation = await deployer.isolation();
    if ('refused' in isolation) return log.warn({}, isolation.refused);
    const { level, reason } = isolation;
    if (level === 'process') log.warn({ isolation: level, reason }, 'Builds run as the user of the server');
    else log.info({ isolation: level, reason }, 'Builds are kept apart from the server');
  } catch (err) {
    log.warn({ err }, 'how builds can be kept apart is found out with the first of them');
  }
}

/** What an earlier process of this machine left in the middle is taken up at once. */
async function takeUpDeployments(services: AllServices): Promise<void> {
  try {
    await recoverDeployments(services);
  } catch (err) {
    services.log.warn({ err }, 'deployments that were left are looked at within a minute');
  }
}

/** Runs an earlier process left go on at once, when no other process can be at them. */
async function takeUpCrawls(services: AllServices, isAlone: boolean): Promise<void> {
  try {
    await (isAlone ? takeUpAllRuns(services) : takeUpRuns(services));
  } catch (err) {
    services.log.warn({ err }, 'runs of crawlers that were left are looked at within a minute');
  }
}

/** No other process can be at executions of an embedded database: those an earlier one left go on at once. */
async function takeUpExecutions(services: AllServices): Promise<void> {
  try {
    await abandonAll(services, services.workflows.engine.id);
  } catch (err) {
    services.log.warn({ err }, 'executions that were left are taken up within seconds');
  }
}

/** Browsers of a process that was killed leave their profiles. */
async function clearBrowsers({ browser, log }: AllServices): Promise<void> {
  try {
    await browser.clear();
  } catch (err) {
    log.warn({ err }, 'what browsers have left stays until the next start');
  }
}

/** Begins the jobs of this process's roles, without which it is not ready; resolves when the queue has started. */
export function beginJobs({ services, queue }: Core, config: Config): Promise<void> {
  return queue.start({
    kinds: [advanceJob, crawlJob, snapshotImportJob, notifyJob, importJob, syncJob, deployJob, deployNoticeJob],
    jobs: config.PORTICO_ROLES.includes('worker')
      ? [
          workflowAdvanceJobFor(services),
          importJobFor(services),
          crawlJobFor(services),
          snapshotImportJobFor(services),
          notifyJobFor(services),
          syncJobFor(services),
          deployJobFor(services, config.PORTICO_BUILD_SLOTS),
          deployNoticeJobFor(services),
        ]
      : [],
  });
}

/** Begins the other background work of a worker: schedules, upkeep, and what an earlier process left. @returns how to end it, in order */
export function beginBackground({ services, queue }: Core, config: Config): () => Promise<void> {
  const isWorker = config.PORTICO_ROLES.includes('worker');
  if (isWorker) void takeUpDeployments(services);
  const endLook = isWorker ? lookForRuns(services) : () => {};
  if (isWorker && config.DATABASE_URL === undefined) void takeUpExecutions(services);
  if (isWorker) void takeUpCrawls(services, config.DATABASE_URL === undefined);
  if (isWorker) void services.assistant.replies.begin(config.DATABASE_URL === undefined);
  if (isWorker) void clearBrowsers(services);
  const endUpkeep = isWorker ? scheduleUpkeep(services, config.PORTICO_AUDIT_DAYS) : async () => {};
  const endWorkflowClock = isWorker ? beginWorkflowClock(services, queue) : async () => {};
  const endSchedules = isWorker ? beginSchedules(services) : async () => {};
  return async () => {
    await endUpkeep();
    endLook();
    await endSchedules();
    await Promise.all([
      services.studio.building.close(),
      services.crawlers.crawling.close(),
      services.workflows.engine.close(),
      services.assistant.replies.close(),
    ]);
    await endWorkflowClock();
  };
}
