import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { findCrawler, locateCrawler, namedCrawler } from '../config/find-crawler.ts';
import { hostOf, hostText } from '../config/host.ts';
import type { CrawlerContext } from '../crawlers.ts';
import { crawlerOperation } from '../crawlers.ts';
import { checkHost } from './check-host.ts';
import { DomainVerification } from './domain-verification.entity.ts';
import { holdVerification, recordCheck } from './record-check.ts';
import { hostChoice, proofMethod, verification } from './verification.schema.ts';
import { verificationStatesOf } from './verification-state.ts';
import { dnsName, dnsNames, dnsText, ensureToken, filePath, findToken, metaTag } from './verification-token.ts';

const window = 60_000;
const most = 10;

/**
 * Counts a check of a crawler whose row the transaction holds.
 * @returns 0 when it may be made, else the seconds until the next one may
 */
async function takeCheck(em: EntityManager, { id }: { id: number }, now: Date): Promise<number> {
  const sql = 'select verification_checks as times from crawler where id = ?';
  const [row] = await em.execute<[{ times: number[] | null }]>(sql, [id]);
  const recent = (row.times ?? []).filter((time) => now.getTime() - time < window);
  if (recent.length >= most) return Math.max(1, Math.ceil(((recent[0] ?? 0) + window - now.getTime()) / 1_000));
  const times = JSON.stringify([...recent, now.getTime()]);
  await em.execute('update crawler set verification_checks = ? where id = ?', [times, id]);
  return 0;
}

/**
 * The host that is meant, in its normal form.
 * @param chosen absent: the crawler's own
 * @throws DomainError `invalid_request` for one that the crawler has nothing to do with
 */
function chosenHost({ host, settings }: Pick<Crawler, 'host' | 'settings'>, chosen: string | undefined): string {
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

type Context = Pick<CrawlerContext, 'crawlers' | 'organization' | 'grant'> & { em: EntityManager };

/** The verification of a host, with the token for callers who may use it. */
async function verificationRecord(context: Context, host: string): Promise<z.output<typeof verification>> {
  const { em, crawlers, organization, grant } = context;
  const standing = (await verificationStatesOf(em, crawlers.limits, organization))(host);
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

export const getVerification = crawlerOperation({
  name: 'crawlers.getVerification',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get the verification state of a domain and how to verify it',
  input: z.object({ ...crawlerName, ...hostChoice }),
  output: verification,
  find: namedCrawler,
  async execute(context, { crawler: name, host }) {
    // Its own host is known without its settings.
    if (host === undefined) return verificationRecord(context, (await locateCrawler(context, name)).host);
    return verificationRecord(context, chosenHost(await findCrawler(context, name), host));
  },
});

export const startVerification = crawlerOperation({
  name: 'crawlers.startVerification',
  kind: 'command',
  permission: 'manage_crawlers',
  freshGrant: true,
  summary: 'Get the token that proves a domain',
  input: z.object({ ...crawlerName, ...hostChoice }),
  output: verification,
  audit: ({ crawler: name }) => ({ type: 'crawler', id: name }),
  find: namedCrawler,
  async execute(context, { crawler: name, host: chosen }) {
    const { em, organization } = context;
    const host = chosenHost(await findCrawler(context, name), chosen);
    await ensureToken(em, organization.id, host);
    const row = await holdVerification(em, organization.id, host);
    if (row.state === 'failed' || row.state === 'lost') row.state = 'pending';
    await em.flush();
    return verificationRecord(context, host);
  },
});

/** Counts the check against the limit, and finds what it needs. @throws DomainError `rate_limited` */
async function prepare({ services, project, organization }: ProjectContext, name: string, chosen: string | undefined) {
  return services.orm.em.fork().transactional(async (em) => {
    const crawler = await findCrawler({ em, project }, name, { lock: true });
    const host = chosenHost(crawler, chosen);
    const wait = await takeCheck(em, crawler, services.clock.now());
    return { host, wait, token: await ensureToken(em, organization.id, host) };
  });
}

export const checkVerification = crawlerOperation({
  name: 'crawlers.checkVerification',
  kind: 'command',
  effect: 'external',
  permission: 'manage_crawlers',
  freshGrant: true,
  summary: 'Check the proof of a domain now',
  input: z.object({ ...crawlerName, ...hostChoice, method: proofMethod.optional().describe('Absent: every method') }),
  output: verification,
  audit: ({ crawler: name }) => ({ type: 'crawler', id: name }),
  find: namedCrawler,
  async execute(context, { crawler: name, host: chosen, method }) {
    const { services, crawlers, organization, signal } = context;
    const { host, wait, token } = await prepare(context, name, chosen);
    if (wait > 0) throw new DomainError('rate_limited', 'Too many checks', { details: { retry_after: wait } });
    const at = { organization_id: organization.id, host };
    const proofs = await checkHost(services, crawlers.limits, { ...at, token, method: method ?? null, signal });
    // The host can take minutes to answer.
    await context.renewed();
    await recordCheck(services, crawlers.limits, at, proofs);
    return verificationRecord({ ...context, em: services.orm.em.fork() }, host);
  },
});
