import { DomainError } from '../../../errors.ts';
import type { OrganizationRef } from '../../../organizations/organization.entity.ts';
import type { Settings } from '../../../services.ts';
import { crawlDefaults } from '../crawl-defaults.ts';
import { type Host, hostText } from '../host.ts';
import { type Base, type Candidate, candidateOf } from './candidate.ts';
import { crawlableHost, domainFault, registrableDomain } from './check-domain.ts';
import { patternFaults } from './check-patterns.ts';
import { allowedHost, isPathOrUrl, urlFaults } from './check-urls.ts';
import { type DraftFault, type DraftValues, faultAt, fieldNames, readDraft } from './draft-fields.ts';

const maxFaults = 100;

interface Surroundings {
  settings: Settings;
  organization: OrganizationRef;
}

/** Brings the entries of `allowed_domains` into their normal form. */
function readAllowed(values: DraftValues): DraftFault[] {
  const faults: DraftFault[] = [];
  if (!values.allowed_domains) return faults;
  values.allowed_domains = values.allowed_domains.map((entry, index) => {
    const host = allowedHost(entry);
    const isFree = host?.startsWith('*.') && registrableDomain(host.slice(2)) === null;
    if (host === null || isFree) faults.push(faultAt('allowed_domains', [index], 'must be a host name'));
    return host ?? entry;
  });
  return faults;
}

/** Faults that show only in the whole: a change of one field may put another in the wrong. */
function faultsOfWhole({ settings }: Candidate, values: DraftValues, host: Host, isMoved: boolean): DraftFault[] {
  const { urls, start_urls, sitemap, allowed_domains } = settings;
  const isScoped = isMoved || values.allowed_domains !== undefined;
  const isBare = start_urls.length === 0 && urls.length === 0 && sitemap.length === 0;
  return [
    ...(isScoped || values.urls !== undefined ? urlFaults('urls', urls, host, allowed_domains) : []),
    ...(isScoped || values.start_urls !== undefined ? urlFaults('start_urls', start_urls, host, allowed_domains) : []),
    ...(isBare ? [faultAt('start_urls', [], 'needs an entry when urls and sitemap are empty')] : []),
    ...sitemap
      .map(({ url }, index) => ({ url, index }))
      .filter(({ url }) => !isPathOrUrl(url, host))
      .map(({ index }) => faultAt('sitemap', [index, 'url'], 'must be a path or an http(s) URL')),
  ];
}

/** @throws DomainError `invalid_request` when there are faults; it names the first in the order of the fields */
function refuse(faults: readonly DraftFault[]): void {
  const sorted = faults.toSorted((a, b) => fieldNames.indexOf(a.field) - fieldNames.indexOf(b.field));
  const [first] = sorted;
  if (!first) return;
  const errors = sorted.slice(0, maxFaults).map(({ field, path, message }) => ({
    field: `/${[field, ...path].map((key) => String(key).replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`,
    code: 'invalid_request',
    message,
  }));
  throw new DomainError('invalid_request', `${first.field}: ${first.message}`, { details: { errors } });
}

/**
 * Checks what a body makes of a crawler, all fields at once.
 * @param base the crawler as it is; null for a new one
 * @returns the crawler as it would be, and the fields of the body
 * @throws DomainError `invalid_request` with every fault, the first in the order of the fields in front
 */
export async function reviewDraft(
  raw: Readonly<Record<string, unknown>>,
  base: Base | null,
  { settings, organization }: Surroundings,
): Promise<{ next: Candidate; values: DraftValues }> {
  const { values, faults } = readDraft(raw);
  const host = values.domain == null ? null : crawlableHost(values.domain, settings.crawl.trusted_domains);
  if (values.domain != null && host === null) faults.push(faultAt('domain', [], domainFault(values.domain)));
  faults.push(...readAllowed(values));
  for (const field of ['include', 'exclude'] as const)
    faults.push(...(await patternFaults(field, values[field] ?? [])));
  const place = { domain: values.domain ?? '', host: host ? hostText(host) : '' };
  const next = candidateOf(base, values, place, crawlDefaults(settings, organization));
  // A field at fault is not in the whole: what is said of the others must not follow from that.
  const isWhole =
    host !== null &&
    !faults.some(({ field }) => field === 'allowed_domains' || field === 'urls' || field === 'sitemap');
  if (host && isWhole) faults.push(...faultsOfWhole(next, values, host, next.host !== base?.host));
  refuse(faults);
  return { next, values };
}
