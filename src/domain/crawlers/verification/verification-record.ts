import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { fieldError } from '../../errors.ts';
import type { ProjectContext } from '../../operation.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { hostOf, hostText } from '../config/host.ts';
import { DomainVerification } from './domain-verification.entity.ts';
import { dnsName, dnsNames, dnsText, filePath, metaTag } from './proof/proof-places.ts';
import { standingsOf } from './standing.ts';
import type { verification } from './verification.schema.ts';
import { findToken } from './verification-token.ts';

/**
 * The host that is meant, in its normal form.
 * @param chosen absent: the crawler's own
 * @throws DomainError `invalid_request` for one that the crawler has nothing to do with
 */
export function chosenHost({ host, settings }: Pick<Crawler, 'host' | 'settings'>, chosen: string | undefined): string {
  if (chosen === undefined) return host;
  const there = hostOf(chosen.trim());
  const text = there && hostText(there);
  const known = [host, ...settings.allowed_domains.map((entry) => entry.replace(/^\*\./, ''))];
  if (text !== null && known.includes(text)) return text;
  throw fieldError('invalid_request', 'host', 'must be the host of the crawler or one of its allowed_domains');
}

const instructionsFor = (host: string, token: string) => {
  const [name] = dnsNames(host).slice(-1);
  return {
    dns: name === undefined ? null : { name: dnsName(name), type: 'TXT' as const, value: dnsText(token) },
    file: { url: `https://${host}${filePath}`, content: token },
    meta: { html: metaTag(token) },
  };
};

type Context = Pick<ProjectContext, 'services' | 'organization' | 'grant'> & { em: EntityManager };

/** How a host stands, with the token for those who may use it. */
export async function verificationRecord(context: Context, host: string): Promise<z.output<typeof verification>> {
  const { em, services, organization, grant } = context;
  const standing = (await standingsOf(em, services.settings, organization))(host);
  const row = await em.findOne(DomainVerification, { organization_id: organization.id, host }, { refresh: true });
  const token = grant.permissions.has('manage_crawlers') ? await findToken(em, organization.id, host) : null;
  return {
    host,
    ...standing,
    token,
    instructions: token === null ? null : instructionsFor(host, token),
    checks: row?.checks ?? [],
  };
}
