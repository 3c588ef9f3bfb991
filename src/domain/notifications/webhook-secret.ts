import { randomBytes } from 'node:crypto';
import type { Services } from '../../kernel/services.ts';
import type { Crawler } from '../crawlers/config/crawler.entity.ts';
import type { ProjectRef } from '../projects/project.entity.ts';

type Owner = Pick<ProjectRef, 'organization_id'>;
type Keys = Pick<Services, 'secrets'>;
type Holder = Pick<Crawler, 'uuid' | 'webhook_secret'>;

/** A key notifications are signed with (Standard Webhooks: `whsec_` and 24 bytes in base64). */
export const newWebhookSecret = () => `whsec_${randomBytes(24).toString('base64')}`;

/** How many secrets a crawler has had; the stored text begins with it, because it is sealed for exactly that one. */
const versionOf = ({ webhook_secret }: Pick<Crawler, 'webhook_secret'>) => Number.parseInt(webhook_secret ?? '0', 10);

/**
 * Gives a crawler a new secret; the caller stores the row.
 * @returns the secret in clear
 */
export async function renewWebhookSecret({ secrets }: Keys, owner: Owner, crawler: Holder): Promise<string> {
  const version = versionOf(crawler) + 1;
  const secret = newWebhookSecret();
  const sealed = await secrets.encrypt(owner.organization_id, 'crawler.webhook_secret', crawler.uuid, version, secret);
  crawler.webhook_secret = `${version}:${sealed}`;
  return secret;
}

/** Makes the secret of a crawler that has a `webhook_url` for the first time; the caller stores the row. */
export async function ensureWebhookSecret(
  services: Keys,
  owner: Owner,
  crawler: Holder & Pick<Crawler, 'settings'>,
): Promise<void> {
  if (crawler.settings.webhook_url && !crawler.webhook_secret) await renewWebhookSecret(services, owner, crawler);
}

/**
 * The secret in clear; null for a crawler that has never had a `webhook_url`.
 * @throws DomainError `unavailable` when it cannot be read
 */
export async function openWebhookSecret({ secrets }: Keys, owner: Owner, crawler: Holder): Promise<string | null> {
  const stored = crawler.webhook_secret;
  if (!stored) return null;
  const sealed = stored.slice(stored.indexOf(':') + 1);
  return secrets.decrypt(owner.organization_id, 'crawler.webhook_secret', crawler.uuid, versionOf(crawler), sealed);
}
