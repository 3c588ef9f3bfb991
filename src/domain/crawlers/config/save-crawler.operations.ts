import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { ensureWebhookSecret } from '../../notifications/webhook-secret.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { holdProject } from '../../projects/hold-project.ts';
import { changeOf } from '../../shapes.ts';
import { standingsOf } from '../verification/standing.ts';
import { crawlDefaults } from './crawl-defaults.ts';
import { Crawler } from './crawler.entity.ts';
import { crawlerDraft, crawlerName } from './crawler.schema.ts';
import { crawler } from './crawler-record.schema.ts';
import { crawlerRecord } from './crawler-record.ts';
import { openCrawlerSecrets, sealCrawlerSecrets } from './crawler-secrets.ts';
import type { Candidate } from './draft/candidate.ts';
import type { DraftValues } from './draft/draft-fields.ts';
import { reviewDraft } from './draft/review-draft.ts';
import { findCrawler } from './find-crawler.ts';
import { requireVerification } from './require-verification.ts';

export const maxCrawlers = 500;

type Context = Pick<ProjectContext, 'em' | 'services' | 'organization' | 'project' | 'ignore'>;

/** Tells what has no effect. @throws DomainError `verification_required` */
async function allow(context: Context, next: Candidate, values: DraftValues): Promise<void> {
  const { em, services, organization } = context;
  const standing = await standingsOf(em, services.settings, organization);
  if (standing(next.host).state !== 'verified')
    requireVerification(values, crawlDefaults(services.settings, organization));
  if (values.user_agent != null && next.settings.browser_mode) context.ignore('user_agent');
}

/** Seals what the body says of secrets; a body that says nothing of them leaves what is sealed. */
async function seal({ services, project }: Context, row: Crawler, { secrets }: Candidate, values: DraftValues) {
  if (values.headers !== undefined || values.webhook_auth_header !== undefined)
    row.secrets = await sealCrawlerSecrets(services, project, row, secrets);
  await ensureWebhookSecret(services, project, row);
}

/** Holds the project's row until the transaction ends. @throws DomainError `limit_reached` */
async function takePlace({ em, project }: Context): Promise<void> {
  await holdProject(em, project.id);
  const others = await em.count(Crawler, { project_id: project.id, deleted_at: null });
  if (others >= maxCrawlers)
    throw new DomainError('limit_reached', `A project has at most ${maxCrawlers} crawlers; delete one first`);
}

export const createCrawler = projectOperation({
  name: 'crawlers.createCrawler',
  kind: 'command',
  permission: 'edit_crawlers',
  fresh: true,
  reads_input: true,
  summary: 'Create a crawler',
  input: z.object(crawlerDraft),
  output: crawler,
  audit: (_input, output) => ({ type: 'crawler', id: output?.uuid ?? null }),
  async execute(context, input) {
    const { em, services, project } = context;
    const { settings } = services;
    const { next, values } = await reviewDraft(input, null, { settings, organization: context.organization });
    await allow(context, next, values);
    await takePlace(context);
    const { secrets: _, ...plain } = next;
    const now = services.clock.now();
    const times = { created_at: now, updated_at: now };
    const row = em.create(Crawler, { ...plain, ...times, uuid: randomUUID(), project_id: project.id, version: 1 });
    await seal(context, row, next, values);
    await em.persist(row).flush();
    return crawlerRecord(context, row);
  },
});

export const updateCrawler = projectOperation({
  name: 'crawlers.updateCrawler',
  kind: 'command',
  permission: 'edit_crawlers',
  fresh: true,
  reads_input: true,
  summary: 'Update a crawler',
  input: changeOf({ ...crawlerName, ...crawlerDraft }),
  output: crawler,
  audit: ({ crawler: name }) => ({ type: 'crawler', id: name }),
  async execute(context, { crawler: name, ...input }) {
    const { em, services, project, organization } = context;
    const row = await findCrawler(context, name, { lock: true });
    const secrets = await openCrawlerSecrets(services, project, row);
    const surroundings = { settings: services.settings, organization };
    const { next, values } = await reviewDraft(input, { ...row, secrets }, surroundings);
    await allow(context, next, values);
    const { secrets: _, ...plain } = next;
    em.assign(row, { ...plain, version: row.version + 1, updated_at: services.clock.now() });
    await seal(context, row, next, values);
    await em.flush();
    return crawlerRecord(context, row);
  },
});
