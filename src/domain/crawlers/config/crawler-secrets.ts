import type { Services } from '../../../kernel/services.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import type { Crawler } from './crawler.entity.ts';
import type { CrawlerSecrets } from './crawler.schema.ts';

type Owner = Pick<ProjectRef, 'organization_id'>;
type Keys = Pick<Services, 'secrets'>;

/**
 * Seals what may hold credentials for one version of a crawler; null when there is nothing to seal. The text begins with the version, so that
 * the copy a run has frozen can be opened after the crawler has gone on.
 */
export async function sealCrawlerSecrets(
  { secrets }: Keys,
  { organization_id }: Owner,
  { uuid, version }: Pick<Crawler, 'uuid' | 'version'>,
  { headers, webhook_auth_header }: CrawlerSecrets,
): Promise<string | null> {
  if (Object.keys(headers).length === 0 && webhook_auth_header === undefined) return null;
  const text = JSON.stringify({ headers, webhook_auth_header });
  return `${version}:${await secrets.encrypt(organization_id, 'crawler.headers', uuid, version, text)}`;
}

/**
 * Opens the secrets of a crawler, or the copy that one of its runs holds.
 * @throws DomainError `unavailable` when they cannot be read
 */
export async function openCrawlerSecrets(
  { secrets }: Keys,
  { organization_id }: Owner,
  { uuid, secrets: stored }: Pick<Crawler, 'uuid' | 'secrets'>,
): Promise<CrawlerSecrets> {
  if (stored == null) return { headers: {} };
  const at = stored.indexOf(':');
  const version = Number(stored.slice(0, at));
  return JSON.parse(await secrets.decrypt(organization_id, 'crawler.headers', uuid, version, stored.slice(at + 1)));
}
