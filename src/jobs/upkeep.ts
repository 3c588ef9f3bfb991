import cron from 'node-cron';
import { AuditRow } from '../domain/audit/audit.entity.ts';
import { watchRuns } from '../domain/crawlers/runs/watch-runs.ts';
import { tickImports } from '../domain/crawlers/snapshots/import/import-job.ts';
import { removeExpiredSnapshots, retainCrawls } from '../domain/crawlers/snapshots/retention.ts';
import { recheckDomains } from '../domain/crawlers/verification/recheck.ts';
import { IdempotencyKey } from '../domain/idempotency.entity.ts';
import { Token } from '../domain/identity/token.entity.ts';
import { wakeDueDeliveries } from '../domain/notifications/delivery/wake-due.ts';
import { Project } from '../domain/projects/project.entity.ts';
import type { Services } from '../domain/services.ts';
import { collectOutputs } from '../domain/studio/deployments/collect-outputs.ts';
import { pruneDeployments } from '../domain/studio/deployments/prune-deployments.ts';
import { tickDeployments } from '../domain/studio/deployments/tick.ts';
import { syncJob } from '../domain/studio/upstream/sync-job.ts';
import { hasUnpushed } from '../domain/studio/upstream/sync-record.ts';
import { pruneExecutions } from '../domain/workflows/executions/prune-executions.ts';
import { cronLog } from './cron-log.ts';
import { pruneStoredContent } from './prune-content.ts';

const day = 24 * 3600_000;
const deletedProjectDays = 30;
const endedTokenDays = 90;
const mergeabilityDays = 30;
const eventDays = 1;
const subjectDays = 30;
const notificationDays = 30;
const fireDays = 90;

/** Removes what has been kept long enough: deleted projects with their repositories, ended tokens, old audit rows, used keys. */
export async function runRetention(services: Services, auditDays: number): Promise<void> {
  const now = services.clock.now().getTime();
  const before = (days: number) => new Date(now - days * day);
  const em = services.orm.em.fork();
  const isEnded = { deleted_at: { $lt: before(deletedProjectDays) } };
  for (const { id, uuid } of await em.find(Project, isEnded)) {
    // Asked again: it may have been brought back while others were removed.
    if ((await em.nativeDelete(Project, { id, ...isEnded })) > 0) await services.git.remove(uuid);
  }
  const old = before(endedTokenDays);
  await em.nativeDelete(Token, { $or: [{ revoked_at: { $lt: old } }, { expires_at: { $lt: old } }] });
  await em.execute('delete from mergeability where tested_at < ?', [before(mergeabilityDays)]);
  // The log of a run is events of it, too: it stays a month after its end, and a run takes three days at most.
  await em.execute(
    `delete from event where topic not like 'execution:%'
       and at < case when topic like 'crawl:%' then ?::timestamptz else ?::timestamptz end`,
    [before(subjectDays + 3), before(eventDays)],
  );
  // What executions tell goes with them.
  await em.execute(`delete from event_subject where topic not like 'execution:%' and at < ?`, [before(subjectDays)]);
  await em.execute(`delete from notification where created_at < ? and status <> 'pending'`, [before(notificationDays)]);
  await em.execute('delete from schedule_fire where created_at < ?', [before(fireDays)]);
  await em.nativeDelete(IdempotencyKey, { created_at: { $lt: before(1) } });
  await em.transactional(async (within) => {
    await within.execute("set local portico.audit_retention = 'on'");
    await within.nativeDelete(AuditRow, { at: { $lt: before(auditDays) } });
  });
}

/** Maintains every repository that is due, one after another, until told to stop. */
export async function maintainRepositories(services: Services, signal: AbortSignal): Promise<void> {
  const projects = await services.orm.em.fork().findAll(Project, { where: { deleted_at: null }, fields: ['uuid'] });
  for (const { uuid } of projects) {
    const level = signal.aborted ? null : await services.git.maintenanceDue(uuid);
    if (level === null) continue;
    try {
      await services.git.maintain(uuid, level, signal);
    } catch (err) {
      // Another process is at it, or the repository is broken: neither may keep the others waiting.
      if (!signal.aborted) services.log.warn({ err, repository: uuid, level }, 'repository not maintained');
    }
  }
}

/** Sends a job for every mirror that holds what its upstream lacks: a process may have died before it could push. */
export async function pushMirrors(services: Services): Promise<void> {
  const mirrors = await services.orm.em.fork().execute<{ id: number; uuid: string }[]>(
    `select id, uuid from project join upstream on project_id = id
     where deleted_at is null and push = 'on_commit'`,
  );
  for (const { id, uuid } of mirrors) {
    try {
      if (await hasUnpushed(services, uuid, id))
        await services.jobs.send(syncJob, { project_id: id }, { singletonKey: String(id) });
    } catch (err) {
      services.log.warn({ err, repository: uuid }, 'a mirror could not be looked at');
    }
  }
}

/** Begins the upkeep: retention and derived content every night, repositories every ten minutes, mirrors every minute; of several processes one does each. @returns how to end it. */
export function scheduleUpkeep(services: Services, auditDays: number): () => Promise<void> {
  const ended = new AbortController();
  const once = (name: string, work: () => Promise<unknown>) => async () => {
    await services.orm.em.fork().transactional(async (em) => {
      const sql = 'select pg_try_advisory_xact_lock(hashtext(?)) as mine';
      const [{ mine }] = (await em.execute(sql, [`portico_${name}`])) as [{ mine: boolean }];
      if (mine) await work();
    });
  };
  const all: [when: string, name: string, work: () => Promise<unknown>][] = [
    ['17 3 * * *', 'retention', () => runRetention(services, auditDays)],
    ['32 3 * * *', 'content', () => pruneStoredContent(services, ended.signal)],
    ['37 3 * * *', 'crawl_retention', () => retainCrawls(services, ended.signal)],
    [
      '* * * * *',
      'snapshots',
      async () => {
        await tickImports(services);
        await removeExpiredSnapshots(services, ended.signal);
      },
    ],
    [
      '47 3 * * *',
      'outputs',
      async () => {
        await pruneDeployments(services, ended.signal);
        await pruneExecutions(services, ended.signal);
        await collectOutputs(services);
      },
    ],
    ['* * * * *', 'deployments', () => tickDeployments(services)],
    ['* * * * *', 'crawls', () => watchRuns(services)],
    ['* * * * *', 'notifications', () => wakeDueDeliveries(services)],
    ['*/10 * * * *', 'maintenance', () => maintainRepositories(services, ended.signal)],
    ['* * * * *', 'verifications', () => recheckDomains(services, ended.signal)],
    ['* * * * *', 'mirrors', () => pushMirrors(services)],
  ];
  const tasks = all.map(([when, name, work]) => {
    const log = services.log.child({ upkeep: name });
    return cron.schedule(when, once(name, work), { timezone: 'UTC', noOverlap: true, logger: cronLog(log) });
  });
  return async () => {
    ended.abort();
    for (const task of tasks) await task.destroy();
  };
}
