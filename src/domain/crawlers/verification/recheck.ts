import type { CrawlerServices } from '../crawlers.ts';
import { checkHost } from './check-host.ts';
import { DomainVerification } from './domain-verification.entity.ts';
import { recordCheck } from './record-check.ts';
import { isTrusted } from './trusted-domains.ts';
import { covers } from './verification-state.ts';
import { ensureToken } from './verification-token.ts';

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
  const before = new Date(services.clock.now().getTime() - day);
  const due = await services.orm.em
    .fork()
    .find(
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
  const proofs = await services.orm.em.fork().find(DomainVerification, { organization_id, state: 'verified' });
  const before = services.clock.now().getTime() - fresh;
  const old = proofs.filter((row) => covers(row, host) && (row.checked_at?.getTime() ?? 0) <= before);
  await Promise.all(old.map((row) => recheck(services, row, signal)));
}
