import type { HttpPolicy } from '../../ports/http.ts';
import type { Services } from '../../services.ts';
import { trustedNames } from './trusted-domains.ts';

/** What crawls and domain checks of an organisation may reach: the ports of the web, and inner addresses only by exact trusted names. */
export function policyFor(
  { settings }: Pick<Services, 'settings'>,
  { organization_id }: { organization_id: number },
): HttpPolicy {
  const { ports, trusted_domains } = settings.crawl;
  return { pool: String(organization_id), ports, trustedNames: trustedNames(trusted_domains) };
}
