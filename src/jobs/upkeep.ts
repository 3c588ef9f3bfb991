import type { EntityManager } from '@mikro-orm/postgresql';
import { releaseExpired } from '../domain/assistant/budget.ts';
import { AuditRow } from '../domain/audit/audit.entity.ts';
import { watchRuns } from '../domain/crawlers/runs/acquire-run.ts';
import { crawlerScheduleSource } from '../domain/crawlers/schedules/crawler-schedule-source.ts';
import { tickImports } from '../domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import { removeExpiredSnapshots, retainCrawls } from '../domain/crawlers/snapshots/retention.ts';
import { recheckDomains } from '../domain/crawlers/verification/record-check.ts';
import { Token } from '../domain/identity/token.entity.ts';
import { wakeDueDeliveries } from '../domain/notifications/deliver.ts';
import { Project } from '../domain/projects/project.entity.ts';
import { resumeSchedules } from '../domain/schedules/dispatch.ts';
import type { AllServices } from '../domain/services.ts';
import { Setting } from '../domain/setting.entity.ts';
import { collectOutputs, pruneDeployments } from '../domain/studio/deployments/collect-outputs.ts';
import { tickDeployments } from '../domain/studio/deployments/tick.ts';
import { removeUnusedDraftPreviews } from '../domain/studio/environments/draft-previews.ts';
import { hasUnpushed } from '../domain/studio/upstream/sync-record.ts';
import { sendSync } from '../domain/studio/upstream/upstream-sync.ts';
import { OneTimeLink } from '../domain/users/one-time-link.ts';
import { pruneSessions } from '../domain/users/sessions.ts';
import { pruneThrottle } from '../domain/users/throttle.ts';
import { pruneExecutions } from '../domain/workflows/executions/prune-executions.ts';
import { workflowScheduleSource } from '../domain/workflows/triggers/workflow-schedule-source.ts';
import { IdempotencyKey } from '../kernel/idempotency.ts';
import { executeBound } from '../kernel/sql.ts';
import { everyMinute, fireSchedules, isNightDue } from './clock.ts';

/** Name of the setting that says when this was done last. */
const mark = 'upkeep clock';

const open = `status in ('pending', 'running', 'paused')`;
const moved = (column: string) => `${column} = ${column} - interval '1 millisecond' * $1::float8`;

/**
 * What waits for a time, or is held until one, that was worked out before the clock was set back; it is moved by as much as the clock was.
 * `$1` is that in milliseconds, `$2` the time now. A time somebody has named (`until` of a delay) stays.
 */
const moves = [
  `update execution set ${moved('waiting_until')} where ${open} and waiting_until > $2`,
  `update execution set ${moved('started_at')} where ${open} and started_at > $2`,
  `update step_run set ${moved('next_try_at')} where status = 'waiting' and next_try_at > $2
     and (type <> 'delay' or input->>'until' is null) and execution_id in (select id from execution where ${open})`,
  `update notification set ${moved('next_attempt_at')} where status = 'pending' and next_attempt_at > $2`,
  `update notification set ${moved('leased_until')} where status = 'pending' and leased_until > $2`,
  `update assistant_conversation set ${moved('lease_until')} where state = 'running' and lease_until > $2`,
  `update assistant_reservation set ${moved('expires_at')} where expires_at > $2`,
  // In the order in which crawls take these rows.
  `update crawler_run set ${moved('heartbeat_at')} where status in ('provisioning', 'running') and heartbeat_at > $2`,
  `update crawler_run set ${moved('progress_at')} where status in ('provisioning', 'running') and progress_at > $2`,
  `update crawl_host set ${moved('next_at')} where next_at > $2`,
  `update crawl_host set ${moved('paused_until')} where paused_until > $2`,
  `update crawl_url set ${moved('not_before')} where not_before > $2
     and run_id in (select id from crawler_run where status in ('provisioning', 'running'))`,
  `update deployment set ${moved('heartbeat_at')} where status <> 'completed' and heartbeat_at > $2`,
  `update upstream set ${moved('lease_until')} where lease_until > $2`,
  `update sign_in_throttle set ${moved('blocked_until')} where blocked_until > $2`,
  // The next look is a day after the last one, and how long a proof has been away is seen at these looks.
  `update domain_verification set ${moved('checked_at')}, ${moved('absent_since')}
     where state = 'verified' and checked_at + interval '1 day' > $2`,
];

/** Claims of commands and of merges, which hold for some time from when they were made: these are made now. `$1` is the time now. */
const claims = [
  'update idempotency_key set created_at = $1 where created_at > $1',
  'update pull set merging_at = $1 where merging_at > $1',
];

/**
 * Notices that the clock was set back since it was last looked at, and mends what would wait for it to catch up. Looked at every minute, so
 * nothing waits longer than a minute beside its own time; what is set back by less is not noticed, and delays by less.
 * @returns whether it was set back
 */
export async function outliveSetbacks({
  orm,
  sharedClock,
  log,
}: Pick<AllServices, 'orm' | 'sharedClock' | 'log'>): Promise<boolean> {
  const em = orm.em.fork();
  const now = await sharedClock.now(em);
  const last = lastOf(await em.findOne(Setting, { name: mark }));
  const setback = last === null ? 0 : Date.parse(last) - now.getTime();
  const isSetBack = setback > 0;
  if (isSetBack) {
    log.warn({ seconds: Math.round(setback / 1000) }, 'the clock was set back; what waits for a time is moved along');
    // Before the mark is written: where this fails, it is done again.
    for (const source of [crawlerScheduleSource, workflowScheduleSource])
      await resumeSchedules({ orm, log }, source, now);
  }
  await orm.em.fork().transactional(async (em) => {
    if (isSetBack) {
      for (const sql of moves) await executeBound(em, sql, [setback, now]);
      for (const sql of claims) await executeBound(em, sql, [now]);
    }
    await em.upsert(Setting, { name: mark, value: now.toISOString() });
  });
  return isSetBack;
}

/** What one night removes at most; the rest waits for the next. */
const mostRemoved = 100_000;
const removedAtOnce = 5_000;
/** How long one night may take, milliseconds; projects come in any order, so that each has its turn. */
const mostTime = 10 * 60_000;

/** Removes derived content that was retired before, then retires what nothing holds any more. */
export async function pruneStoredContent(services: AllServices, ended: AbortSignal): Promise<void> {
  const { git, log, orm, studio } = services;
  for (let removed = 0; removed < mostRemoved && !ended.aborted; removed += removedAtOnce) {
    if (((await studio.content.removeExpired(removedAtOnce)) ?? 0) < removedAtOnce) break;
  }
  const signal = AbortSignal.any([ended, AbortSignal.timeout(mostTime)]);
  const projects = await orm.em
    .fork()
    .execute<{ uuid: string }[]>('select uuid from project where deleted_at is null order by random()');
  for (const { uuid } of projects) {
    if (signal.aborted) return;
    try {
      await studio.content.prune(git.open(uuid), signal);
    } catch (err) {
      log.warn({ err, repository: uuid }, 'derived content not pruned');
    }
  }
}

const day = 24 * 3600_000;
const deletedProjectDays = 30;
const endedTokenDays = 90;
const mergeabilityDays = 30;
const eventDays = 1;
const subjectDays = 30;
const notificationDays = 30;
const fireDays = 90;
const conversationDays = 90;

/** Removes conversations with the assistant that have not changed for the days their organisation keeps them, with messages and calls. */
async function removeOldConversations(em: EntityManager, now: Date): Promise<void> {
  const remove = `delete from assistant_conversation where id in (
    select conversation.id from assistant_conversation conversation join organization on organization.id = organization_id
    where conversation.updated_at <
      ?::timestamptz - interval '1 day' * coalesce((organization.limits->>'assistant_days')::integer, ${conversationDays})
    limit ${removedAtOnce}) returning id`;
  while ((await em.execute<unknown[]>(remove, [now])).length === removedAtOnce);
}

/** Removes what has been kept long enough: deleted projects with their repositories, ended tokens, conversations, old audit rows, used keys. */
export async function runRetention(services: AllServices, auditDays: number): Promise<void> {
  const now = services.clock.now().getTime();
  const before = (days: number) => new Date(now - days * day);
  const em = services.orm.em.fork();
  const isEnded = { deleted_at: { $lt: before(deletedProjectDays) } };
  for (const { id, uuid } of await em.find(Project, isEnded)) {
    // Checked again: it may have been brought back while others were removed.
    if ((await em.nativeDelete(Project, { id, ...isEnded })) > 0) await services.git.remove(uuid);
  }
  await em.execute(
    `delete from organization where deleted_at < ?
       and not exists (select 1 from project where organization_id = organization.id)`,
    [before(deletedProjectDays)],
  );
  const old = before(endedTokenDays);
  await em.nativeDelete(Token, { $or: [{ revoked_at: { $lt: old } }, { expires_at: { $lt: old } }] });
  await pruneSessions(services);
  await pruneThrottle(services);
  await em.nativeDelete(OneTimeLink, { expires_at: { $lt: services.clock.now() } });
  await em.execute('delete from mergeability where tested_at < ?', [before(mergeabilityDays)]);
  // The log of a run is events of it, too: it stays a month after its end, and a run takes three days at most.
  await em.execute(
    `delete from event where topic not like 'execution:%'
       and at < case when topic like 'crawl:%' then ?::timestamptz else ?::timestamptz end`,
    [before(subjectDays + 3), before(eventDays)],
  );
  // Events of executions go with them.
  await em.execute(`delete from event_subject where topic not like 'execution:%' and at < ?`, [before(subjectDays)]);
  await em.execute(`delete from notification where created_at < ? and status <> 'pending'`, [before(notificationDays)]);
  await em.execute('delete from schedule_fire where created_at < ?', [before(fireDays)]);
  await removeOldConversations(em, services.clock.now());
  // Links live a minute; the rest of the day their rows still say that they were opened.
  await em.execute('delete from spent_preview_link where spent_at < ?', [before(1)]);
  await em.nativeDelete(IdempotencyKey, { created_at: { $lt: before(1) } });
  await em.transactional(async (within) => {
    await within.execute("set local portico.audit_retention = 'on'");
    await within.nativeDelete(AuditRow, { at: { $lt: before(auditDays) } });
  });
}

/** Maintains every repository that is due, one after another, until it is stopped. */
export async function maintainRepositories(services: AllServices, signal: AbortSignal): Promise<void> {
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
export async function pushMirrors(services: AllServices): Promise<void> {
  const mirrors = await services.orm.em.fork().execute<{ id: number; uuid: string; organization_id: number }[]>(
    `select id, uuid, organization_id from project join upstream on project_id = id
     where deleted_at is null and push = 'on_commit'`,
  );
  for (const { id, uuid, organization_id } of mirrors) {
    try {
      if (await hasUnpushed(services, uuid, id)) await sendSync(services, { id, organization_id });
    } catch (err) {
      services.log.warn({ err, repository: uuid }, 'a mirror could not be looked at');
    }
  }
}

/** When something is done: at every beat of so many, or once a night after a time (UTC). */
type When = { beats: number } | { night: string };

const everyBeat: When = { beats: 1 };

/** The upkeep of a process. */
export interface Upkeep {
  /** Begins what is due at a beat, but what of earlier ones is under way. @returns when all that it has begun is over */
  beat(number: number): Promise<void>;
  /** Stops what is under way, and waits for it. */
  end(): Promise<void>;
}

/**
 * The upkeep: retention and derived content every night, repositories every ten minutes, mirrors every minute; of several processes one
 * does each. Nights are days of the database's clock, written down, so that none is done twice or left out when a clock is set.
 */
export function createUpkeep(services: AllServices, auditDays: number): Upkeep {
  const ended = new AbortController();
  const { signal } = ended;
  const all: [when: When, name: string, work: () => Promise<unknown>][] = [
    [
      everyBeat,
      'clock',
      async () => {
        // Their own beat of this minute may have been before, and found nothing due.
        if (await outliveSetbacks(services)) await fireSchedules(services, signal);
      },
    ],
    [{ night: '03:17' }, 'retention', () => runRetention(services, auditDays)],
    [{ night: '03:32' }, 'content', () => pruneStoredContent(services, signal)],
    [{ night: '03:37' }, 'crawl_retention', () => retainCrawls(services, signal)],
    [
      everyBeat,
      'snapshots',
      async () => {
        await tickImports(services);
        await removeExpiredSnapshots(services, signal);
      },
    ],
    [{ night: '03:42' }, 'draft_previews', () => removeUnusedDraftPreviews(services)],
    [
      { night: '03:47' },
      'outputs',
      async () => {
        await pruneDeployments(services, signal);
        await pruneExecutions(services, signal);
        await collectOutputs(services);
      },
    ],
    [everyBeat, 'deployments', () => tickDeployments(services)],
    [everyBeat, 'crawls', () => watchRuns(services)],
    [everyBeat, 'notifications', () => wakeDueDeliveries(services)],
    [everyBeat, 'assistant_tokens', () => releaseExpired(services.orm.em.fork())],
    [{ beats: 10 }, 'maintenance', () => maintainRepositories(services, signal)],
    [everyBeat, 'verifications', () => recheckDomains(services, signal)],
    [everyBeat, 'mirrors', () => pushMirrors(services)],
  ];
  const underWay = new Map<string, Promise<void>>();
  const attempt = async (when: When, name: string, work: () => Promise<unknown>) => {
    try {
      await onceOfAll(services, when, name, work);
    } catch (err) {
      services.log.error({ err, upkeep: name }, 'upkeep failed; it is done again at its next time');
    } finally {
      underWay.delete(name);
    }
  };
  return {
    async beat(number) {
      const due = all.filter(([when, name]) => !underWay.has(name) && ('night' in when || number % when.beats === 0));
      for (const [when, name, work] of due) underWay.set(name, attempt(when, name, work));
      await Promise.all(due.map(([, name]) => underWay.get(name)));
    },
    async end() {
      ended.abort();
      await Promise.all(underWay.values());
    },
  };
}

/** Begins the upkeep, with a beat every minute. @returns how to end it; waits for what is under way */
export function scheduleUpkeep(services: AllServices, auditDays: number): () => Promise<void> {
  const upkeep = createUpkeep(services, auditDays);
  const end = everyMinute((beat) => void upkeep.beat(beat));
  return () => {
    end();
    return upkeep.end();
  };
}

const lastOf = (row: Setting | null): string | null => (typeof row?.value === 'string' ? row.value : null);

/** Does something unless another process is doing it, or has done it this night. */
export async function onceOfAll(
  services: Pick<AllServices, 'orm' | 'sharedClock' | 'locks'>,
  when: When,
  name: string,
  work: () => Promise<unknown>,
): Promise<void> {
  const night = 'night' in when ? when.night : null;
  const mark = `upkeep ${name}`;
  const em = () => services.orm.em.fork();
  const now = night === null ? null : await services.sharedClock.now(em());
  const isDue = async () =>
    now === null || isNightDue(lastOf(await em().findOne(Setting, { name: mark })), night ?? '', now);
  if (!(await isDue())) return;
  await services.locks.unlessHeld(mark, async () => {
    // Looked at again: another process may have come to its end meanwhile.
    if (!(await isDue())) return;
    // Before it is begun: what fails every night must not be done every minute.
    if (now !== null) await em().upsert(Setting, { name: mark, value: now.toISOString().slice(0, 10) });
    await work();
  });
}
