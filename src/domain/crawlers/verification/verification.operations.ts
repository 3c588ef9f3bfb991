import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { findCrawler } from '../config/find-crawler.ts';
import { checkHost } from './check-host.ts';
import { takeCheck } from './check-limit.ts';
import { holdVerification, recordCheck } from './record-check.ts';
import { hostChoice, proofMethod, verification } from './verification.schema.ts';
import { chosenHost, verificationRecord } from './verification-record.ts';
import { ensureToken } from './verification-token.ts';

export const getVerification = projectOperation({
  name: 'crawlers.getVerification',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get the verification state of a domain and how to verify it',
  input: z.object({ ...crawlerName, ...hostChoice }),
  output: verification,
  async execute(context, { crawler: name, host }) {
    return verificationRecord(context, chosenHost(await findCrawler(context, name), host));
  },
});

export const startVerification = projectOperation({
  name: 'crawlers.startVerification',
  kind: 'command',
  permission: 'manage_crawlers',
  fresh: true,
  summary: 'Get the token that proves a domain',
  input: z.object({ ...crawlerName, ...hostChoice }),
  output: verification,
  audit: ({ crawler: name }) => ({ type: 'crawler', id: name }),
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

export const checkVerification = projectOperation({
  name: 'crawlers.checkVerification',
  kind: 'command',
  effect: 'external',
  permission: 'manage_crawlers',
  fresh: true,
  summary: 'Check the proof of a domain now',
  input: z.object({ ...crawlerName, ...hostChoice, method: proofMethod.optional().describe('Absent: every method') }),
  output: verification,
  audit: ({ crawler: name }) => ({ type: 'crawler', id: name }),
  async execute(context, { crawler: name, host: chosen, method }) {
    const { services, organization, signal } = context;
    const { host, wait, token } = await prepare(context, name, chosen);
    if (wait > 0) throw new DomainError('rate_limited', 'Too many checks', { details: { retry_after: wait } });
    const at = { organization_id: organization.id, host };
    const proofs = await checkHost(services, { ...at, token, method: method ?? null, signal });
    await recordCheck(services, at, proofs);
    return verificationRecord({ ...context, em: services.orm.em.fork() }, host);
  },
});
