import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import { recordAudit } from '../../audit/audit.ts';
import { notify } from '../../notifications/notify.ts';
import type { CrawlLimits } from '../config/crawl-limits.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import type { CrawlerServices } from '../crawlers.ts';
import { checkHost, type Proof } from './check-host.ts';
import { DomainVerification, type Finding } from './domain-verification.entity.ts';
import { isTrusted } from './trusted-domains.ts';
import { covers, verificationStatesOf } from './verification-state.ts';
import { ensureToken } from './verification-token.ts';

/** A proof may be away so long, seen to be so each time, before the host counts as lost. */
const patience = 72 * 3_600_000;

type Keys = Pick<Services, 'jobs' | 'log' | 'clock' | 'sharedClock'>;

const findingOf = ({ method, outcome, detail }: Proof): Finding => ({
  method,
  outcome,
  // Servers may put anything into what is quoted.
  detail: detail.replaceAll('\u0000', '').slice(0, 1_000),
});

/** Lays what was found into a row. @returns whether the host is lost by it */
function lay(row: DomainVerification, proofs: readonly Proof[], now: Date): boolean {
  const byMethod = new Map([...row.checks, ...proofs.map(findingOf)].map((finding) => [finding.method, finding]));
  row.checks = ['dns', 'file', 'meta'].flatMap((name) => byMethod.get(name as Finding['method']) ?? []);
  row.checked_at = now;
  const found = proofs.find(({ outcome }) => outcome === 'found');
  if (found) {
    row.verified_at = row.state === 'verified' && row.verified_at ? row.verified_at : now;
    Object.assign(row, { state: 'verified', method: found.method, proved: found.proved ?? null, absent_since: null });
    return false;
  }
  if (row.state !== 'verified') {
    if (row.state === 'pending') row.state = 'failed';
    return false;
  }
  // The place of the proof was unreachable: no evidence either way.
  if (proofs.find(({ method }) => method === row.method)?.outcome !== 'absent') return false;
  row.absent_since ??= now;
  if (now.getTime() - row.absent_since.getTime() < patience) return false;
  row.state = 'lost';
  return true;
}

/** Notifies every crawler whose host the lost proof covered. */
async function notifyLost(
  em: EntityManager,
  services: Keys,
  limits: CrawlLimits,
  row: DomainVerification,
): Promise<void> {
  const organization = { id: row.organization_id };
  const standing = await verificationStatesOf(em, limits, organization);
  const crawlers = await em.execute<Pick<Crawler, 'id' | 'uuid' | 'host' | 'project_id'>[]>(
    `select crawler.id, crawler.uuid, host, project_id from crawler join project on project.id = project_id
     where organization_id = ? and crawler.deleted_at is null and project.deleted_at is null order by crawler.id`,
    [row.organization_id],
  );
  const { host, method } = row;
  for (const crawler of crawlers) {
    const now = standing(crawler.host);
    if (now.state === 'verified' || (crawler.host !== host && !covers(row, crawler.host))) continue;
    await notify(em, services, crawler, 'crawler.verification.lost', {
      verification: { host, method: method ?? null, state: 'lost' },
    });
  }
  await recordAudit(em, {
    at: services.clock.now(),
    actor: 'system:verification',
    address: null,
    request_id: `verification-${row.id}`,
    action: 'crawlers.loseVerification',
    organization_id: row.organization_id,
    project_id: null,
    subject: { type: 'domain', id: host },
    outcome: 'ok',
    input: { host, method },
  });
}

/** The row of a host, locked until the transaction ends; created when missing. */
export async function holdVerification(
  em: EntityManager,
  organization_id: number,
  host: string,
): Promise<DomainVerification> {
  await em.execute(
    `insert into domain_verification (organization_id, host, state, checks) values (?, ?, 'pending', '[]')
     on conflict (organization_id, host) do nothing`,
    [organization_id, host],
  );
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  return em.findOneOrFail(DomainVerification, { organization_id, host }, { refresh: true, lockMode });
}

/**
 * Stores the result of a check, in a transaction of its own: proved, not proved, or lost after 72 hours in which the proof was
 * missing; then the crawlers that relied on it are notified.
 */
export async function recordCheck(
  services: Keys & Pick<Services, 'orm'>,
  limits: CrawlLimits,
  { organization_id, host }: Pick<DomainVerification, 'organization_id' | 'host'>,
  proofs: readonly Proof[],
): Promise<DomainVerification> {
  return services.orm.em.fork().transactional(async (em) => {
    const row = await holdVerification(em, organization_id, host);
    const isLost = lay(row, proofs, await services.sharedClock.now(em));
    await em.flush();
    if (isLost) await notifyLost(em, services, limits, row);
    return row;
  });
}

const day = 24 * 3_600_000;
/** Hosts looked at in one tick: the rest has its turn a minute later. */
const most = 20;
/** Looked at so recently, milliseconds, a host needs no new look before a run. */
const fresh = 3_600_000;

type Host = Pick<DomainVerification, 'organization_id' | 'host'>;

async function recheck(services: CrawlerServices, { organization_id, host }: Host, signal: AbortSignal): Promise<void> {
  const token = await ensureToken(services.orm.em.fork(), organization_id, host);
  const proofs = await checkHost(services, services.crawlers.limits, {
    organization_id,
    host,
    token,
    method: null,
    signal,
  });
  await recordCheck(services, services.crawlers.limits, { organization_id, host }, proofs);
}

/** Looks again for the proofs that were last seen a day ago. */
export async function recheckDomains(services: CrawlerServices, signal: AbortSignal): Promise<void> {
  const em = services.orm.em.fork();
  const before = new Date((await services.sharedClock.now(em)).getTime() - day);
  const due = await em.find(
    DomainVerification,
    { state: 'verified', checked_at: { $lte: before } },
    { orderBy: { checked_at: 'asc' }, limit: most },
  );
  await Promise.all(
    due.map(async (row) => {
      try {
        await recheck(services, row, signal);
      } catch (err) {
        if (!signal.aborted) services.log.warn({ err, host: row.host }, 'a domain could not be checked');
      }
    }),
  );
}

/** Looks again for the proofs that cover a host before a run that burdens it more than a stranger may, unless that was done within the hour. */
export async function recheckBeforeRun(
  services: CrawlerServices,
  { organization_id, host }: Host,
  signal: AbortSignal,
): Promise<void> {
  if (isTrusted(services.crawlers.limits.trusted_domains, host)) return;
  const em = services.orm.em.fork();
  const proofs = await em.find(DomainVerification, { organization_id, state: 'verified' });
  const before = (await services.sharedClock.now(em)).getTime() - fresh;
  const old = proofs.filter((row) => covers(row, host) && (row.checked_at?.getTime() ?? 0) <= before);
  await Promise.all(old.map((row) => recheck(services, row, signal)));
}
