import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { findPage, maxPerPage, pageOf, wholePageInput, wholeWindowOf } from '../../../kernel/paging.ts';
import { parseInput } from '../../../kernel/parse.ts';
import { changeOf } from '../../../kernel/shapes.ts';
import { ensureWebhookSecret } from '../../notifications/webhook-secret.ts';
import { holdProject } from '../../projects/project-ref.ts';
import type { CrawlerContext } from '../crawlers.ts';
import { crawlerOperation } from '../crawlers.ts';
import { cancelRunsOf } from '../runs/end-run.ts';
import { CrawlSnapshot } from '../snapshots/snapshot.entity.ts';
import { snapshotRecords } from '../snapshots/snapshot-record.ts';
import { snapshot } from '../snapshots/snapshots.schema.ts';
import { verificationStatesOf } from '../verification/verification-state.ts';
import { type CrawlDefaults, crawlDefaults } from './crawl-limits.ts';
import { Crawler } from './crawler.entity.ts';
import { crawlerDraft, crawlerName } from './crawler.schema.ts';
import {
  crawler,
  crawlerRecord,
  crawlerSummaries,
  crawlerSummary,
  readCrawlers,
  roomForSettings,
} from './crawler-record.ts';
import { openCrawlerSecrets, sealCrawlerSecrets } from './crawler-secrets.ts';
import { type Candidate, type DraftValues, reviewDraft } from './draft.ts';
import { contents, findCrawler, locateCrawler, namedCrawler } from './find-crawler.ts';

export const getPublishedSnapshots = crawlerOperation({
  name: 'crawlers.getPublishedSnapshots',
  kind: 'query',
  permission: 'browse_crawlers',
  notInSteps: true,
  summary: 'Get the live snapshots of many crawlers; null for a crawler without one',
  input: z.object({ crawlers: z.array(z.int32()).max(maxPerPage) }),
  output: z.array(snapshot.nullable()),
  async execute({ em, project }, { crawlers: ids }) {
    const where = { id: { $in: ids }, project_id: project.id, deleted_at: null };
    const crawlers = await em.find(Crawler, where, { fields: ['published_snapshot_id'] });
    const live = crawlers.flatMap(({ published_snapshot_id }) => published_snapshot_id ?? []);
    const snapshots = await em.find(CrawlSnapshot, { id: { $in: live } });
    const records = await snapshotRecords(em, snapshots, crawlers);
    return ids.map((id) => records.find(({ crawler_id }) => crawler_id === id) ?? null);
  },
});

/** Fields that burden a site, in the order they are looked at, and whether a value does. */
const burdens: readonly [keyof DraftValues, (value: unknown, defaults: CrawlDefaults) => boolean][] = [
  ['workers', (value) => value !== 2],
  ['delay', (value) => value !== 4],
  ['max_hits', (value) => value !== 0],
  ['max_html', (value, { max_html }) => value !== max_html],
  ['ignore_robots', (value) => value === true],
];

/** @throws DomainError `verification_required` when a body sets what only owners of a site may set */
function requireVerification(values: DraftValues, defaults: CrawlDefaults): void {
  const names = burdens
    .filter(([name, isBurden]) => values[name] != null && isBurden(values[name], defaults))
    .map(([name]) => name);
  if (names.length === 0) return;
  const message = 'a non-default value requires a verified domain';
  throw new DomainError('verification_required', `${names[0]}: ${message}`, {
    details: { errors: names.map((name) => ({ field: `/${name}`, code: 'verification_required', message })) },
  });
}

const living = ({ project }: Pick<CrawlerContext, 'project'>) => ({ project_id: project.id, deleted_at: null });

export const listCrawlers = crawlerOperation({
  name: 'crawlers.listCrawlers',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List crawlers',
  input: z.object({ ...wholePageInput }),
  output: pageOf(crawler),
  async execute(context, paging) {
    const options = { orderBy: { id: 'asc' }, fields: ['id'], disableIdentityMap: true } as const;
    const { rows, asPage } = await findPage(context.em, wholeWindowOf(paging), Crawler, living(context), options);
    const ids = rows.map(({ id }) => id);
    return asPage(await readCrawlers(context, ids));
  },
});

export const listCrawlerSummaries = crawlerOperation({
  name: 'crawlers.listCrawlerSummaries',
  kind: 'query',
  permission: 'browse_crawlers',
  notInSteps: true,
  summary: 'List crawlers without their settings',
  input: listCrawlers.input,
  output: pageOf(crawlerSummary),
  async execute(context, paging) {
    const options = { orderBy: { id: 'asc' }, exclude: contents, disableIdentityMap: true } as const;
    const { rows, asPage } = await findPage(context.em, wholeWindowOf(paging), Crawler, living(context), options);
    return asPage(await crawlerSummaries(context, rows));
  },
});

export const getCrawler = crawlerOperation({
  name: 'crawlers.getCrawler',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one crawler',
  input: z.object(crawlerName),
  output: crawler,
  find: namedCrawler,
  async execute(context, { crawler: name }) {
    const { id } = await locateCrawler(context, name);
    await roomForSettings(context, [id]);
    return crawlerRecord(context, await findCrawler(context, name));
  },
});

export const getCrawlerSummary = crawlerOperation({
  name: 'crawlers.getCrawlerSummary',
  kind: 'query',
  permission: 'browse_crawlers',
  notInSteps: true,
  summary: 'Get one crawler without its settings',
  input: getCrawler.input,
  output: crawlerSummary,
  find: namedCrawler,
  async execute(context, { crawler: name }) {
    const [found] = await crawlerSummaries(context, [await locateCrawler(context, name)]);
    return found as z.output<typeof crawlerSummary>;
  },
});

export const deleteCrawler = crawlerOperation({
  name: 'crawlers.deleteCrawler',
  kind: 'command',
  permission: 'delete_crawlers',
  irreversible: true,
  summary: 'Delete a crawler: its runs are canceled and its schedules end',
  input: z.object(crawlerName),
  output: crawler,
  audit: ({ crawler: name }) => ({ type: 'crawler', id: name }),
  find: namedCrawler,
  async execute(context, { crawler: name }) {
    const { em, services, crawlers } = context;
    const row = await findCrawler(context, name, { lock: true });
    row.deleted_at = services.clock.now();
    await em.flush();
    await em.execute('update crawler_schedule set enabled = false, next_fire_at = null where crawler_id = ?', [row.id]);
    await cancelRunsOf(em, { ...services, crawlers }, row);
    return crawlerRecord(context, row);
  },
});

const maxCrawlers = 500;

type Context = Pick<CrawlerContext, 'em' | 'services' | 'crawlers' | 'organization' | 'project' | 'ignore'>;

const surroundingsOf = ({ services, crawlers, organization }: Context) => ({
  settings: services.settings,
  limits: crawlers.limits,
  organization,
});

/** Tells what has no effect. @throws DomainError `verification_required` */
async function allow(context: Context, next: Candidate, values: DraftValues): Promise<void> {
  const { em, services, crawlers, organization } = context;
  const standing = await verificationStatesOf(em, crawlers.limits, organization);
  if (standing(next.host).state !== 'verified')
    requireVerification(values, crawlDefaults(services.settings, crawlers.limits, organization));
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

export const createCrawler = crawlerOperation({
  name: 'crawlers.createCrawler',
  kind: 'command',
  permission: 'edit_crawlers',
  freshGrant: true,
  rawInput: true,
  summary: 'Create a crawler',
  input: z.object(crawlerDraft),
  output: crawler,
  audit: (_input, output) => ({ type: 'crawler', id: output?.uuid ?? null }),
  async execute(context, input) {
    const { em, services, project } = context;
    const { next, values } = await reviewDraft(input, null, surroundingsOf(context));
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

export const updateCrawler = crawlerOperation({
  name: 'crawlers.updateCrawler',
  kind: 'command',
  permission: 'edit_crawlers',
  freshGrant: true,
  rawInput: true,
  summary: 'Update a crawler',
  input: changeOf({ ...crawlerName, ...crawlerDraft }),
  output: crawler,
  audit: ({ crawler: name }) => ({ type: 'crawler', id: name }),
  find: namedCrawler,
  async execute(context, { crawler: given, ...input }) {
    const { em, services, project } = context;
    const { crawler: name } = parseInput(z.object(crawlerName), { crawler: given });
    const row = await findCrawler(context, name, { lock: true });
    const secrets = await openCrawlerSecrets(services, project, row);
    const surroundings = surroundingsOf(context);
    const { next, values } = await reviewDraft(input, { ...row, secrets }, surroundings);
    await allow(context, next, values);
    const { secrets: _, ...plain } = next;
    em.assign(row, { ...plain, version: row.version + 1, updated_at: services.clock.now() });
    await seal(context, row, next, values);
    await em.flush();
    return crawlerRecord(context, row);
  },
});
