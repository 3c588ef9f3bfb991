import type { EntityManager } from '@mikro-orm/postgresql';
import type { OrganizationRef } from '../../organizations/organization.entity.ts';
import type { CrawlLimits } from '../config/crawl-limits.ts';
import { hostOf, siblingOf } from '../config/host.ts';
import type { CrawlerServices } from '../crawlers.ts';
import { DomainVerification, type ProofMethod } from './domain-verification.entity.ts';
import { isTrusted } from './trusted-domains.ts';

type Row = Pick<DomainVerification, 'host' | 'state' | 'method' | 'proved' | 'checked_at' | 'verified_at'>;
type Owner = Pick<OrganizationRef, 'id'>;

/** The verification of a host; `operator` (`PORTICO_TRUSTED_DOMAINS`) has no row. */
export interface VerificationState {
  state: 'none' | DomainVerification['state'];
  method: ProofMethod | 'operator' | null;
  checked_at: Date | null;
  verified_at: Date | null;
}

const unknown: VerificationState = { state: 'none', method: null, checked_at: null, verified_at: null };
const operator: VerificationState = { ...unknown, state: 'verified', method: 'operator' };

/** Whether a proof holds for a host too: by dns for all names below it, else for the same port of the host and its sibling. */
export function covers({ method, proved }: Pick<Row, 'method' | 'proved'>, host: string): boolean {
  const wanted = hostOf(host);
  const there = proved == null ? null : hostOf(proved);
  if (!wanted || !there) return false;
  if (method === 'dns') return wanted.name === there.name || wanted.name.endsWith(`.${there.name}`);
  return wanted.port === there.port && (wanted.name === there.name || wanted.name === siblingOf(there.name));
}

const shown = ({ state, method, checked_at, verified_at }: Row): VerificationState => ({
  state,
  method: method ?? null,
  checked_at: checked_at ?? null,
  verified_at: verified_at ?? null,
});

/** The standing of any host (`name` or `name:port`) of an organisation, from what is stored about all of them. */
export async function verificationStatesOf(
  em: EntityManager,
  { trusted_domains }: Pick<CrawlLimits, 'trusted_domains'>,
  { id: organization_id }: Owner,
): Promise<(host: string) => VerificationState> {
  const rows = await em.find(DomainVerification, { organization_id }, { disableIdentityMap: true });
  const own = new Map(rows.map((row) => [row.host, row]));
  const proofs = rows.filter(({ state }) => state === 'verified');
  return (host) => {
    if (isTrusted(trusted_domains, host)) return operator;
    const row = own.get(host);
    const proof = row?.state === 'verified' ? row : proofs.find((other) => covers(other, host));
    return proof || row ? shown((proof ?? row) as Row) : unknown;
  };
}

/** Whether an organisation has proved that a host (`name` or `name:port`) is its own, or the operator vouches for it. */
export async function isVerified(
  { orm, crawlers }: Pick<CrawlerServices, 'orm' | 'crawlers'>,
  organization: Owner,
  host: string,
): Promise<boolean> {
  const standing = await verificationStatesOf(orm.em.fork(), crawlers.limits, organization);
  return standing(host).state === 'verified';
}
