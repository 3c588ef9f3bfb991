import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Document, isCollection, isScalar, Scalar, type ToStringOptions, visit } from 'yaml';
import { z } from 'zod';
import { roomForPage } from '../../../kernel/paging.ts';
import { timestamp } from '../../../kernel/shapes.ts';
import { Pace } from '../../../lib/concurrency.ts';
import type { CrawlerContext } from '../crawlers.ts';
import { CrawlerRun } from '../runs/crawler-run.entity.ts';
import { frozen, runRecords } from '../runs/run-record.ts';
import { crawlerRun } from '../runs/runs.schema.ts';
import { verificationMethod, verificationState } from '../verification/verification.schema.ts';
import { verificationStatesOf } from '../verification/verification-state.ts';
import { type CrawlDefaults, crawlDefaults } from './crawl-limits.ts';
import { Crawler } from './crawler.entity.ts';
import { crawlerFields, initialSettings } from './crawler.schema.ts';
import { openCrawlerSecrets } from './crawler-secrets.ts';
import type { LocatedCrawler } from './find-crawler.ts';

const { webhook_url, webhook_auth_header, webhook_extra_vars, headers, ...plain } = crawlerFields;

const standing = z
  .object({
    state: verificationState,
    method: verificationMethod.nullable(),
    checked_at: timestamp.nullable(),
  })
  .meta({ id: 'CrawlerVerificationSummary' });

/** A crawler as callers see it. */
export const crawler = z
  .object({
    id: z.int32().describe('Crawler ID'),
    uuid: z.string().describe('Crawler UUID'),
    project_id: z.int32().describe('Project ID'),
    config: z.string().describe('Crawler configuration as YAML text'),
    urls_list: z.string().describe('URL list as YAML text'),
    domain_verified: z.int32().min(0).max(1).describe('Domain verification status: 0 or 1'),
    ...plain,
    headers: headers.optional().describe('Custom headers; only for callers with edit_crawlers'),
    webhook_url: webhook_url.optional(),
    webhook_auth_header: webhook_auth_header
      .optional()
      .describe('Authorization header value sent to the webhook; only for callers with edit_crawlers'),
    webhook_extra_vars: webhook_extra_vars.optional(),
    merge_domains: z.boolean().describe('True exactly when allowed_domains is not empty'),
    verification: standing,
    published_snapshot_id: z.int32().nullable(),
    last_run: crawlerRun.nullable().describe('The newest run, whatever has become of it'),
    created_at: timestamp,
    updated_at: timestamp,
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'Crawler' });

/** A crawler without its settings. */
export const crawlerSummary = crawler.pick({
  id: true,
  uuid: true,
  project_id: true,
  domain_verified: true,
  domain: true,
  name: true,
  verification: true,
  published_snapshot_id: true,
  last_run: true,
  created_at: true,
  updated_at: true,
  deleted_at: true,
});

const style: ToStringOptions = { indent: 4, lineWidth: 0, singleQuote: true, flowCollectionPadding: false };

/** Line ends of YAML 1.1 and what is not printable in YAML (5.1 of its specification): only an escape holds them safely. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is quoted
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;

/** Those of them which the writer leaves as they are, even between double quotes. */
const unescaped = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Whether a value needs quotes that the writer does not see. In flow style readers differ in whether a colon ends a key, and some end a
 * plain value at a question mark; `=` alone is a type of its own in YAML 1.1.
 */
const isAmbiguous = (value: string, isFlow: boolean) => value === '=' || (isFlow && /[:?]/.test(value));

/** A number that is written with an exponent and no point, which YAML 1.1 takes for text. */
const pointless = /^( {4}delay: \d)e/m;

/** Block style for the top two levels and flow style below. */
function write(content: object): string {
  const document = new Document(content, { compat: 'yaml-1.1' });
  visit(document, {
    Node(_key, node, path) {
      const depth = path.filter(isCollection).length;
      if (isCollection(node) && depth >= 2) node.flow = true;
      if (!isScalar(node) || typeof node.value !== 'string') return;
      if (unprintable.test(node.value)) node.type = Scalar.QUOTE_DOUBLE;
      else if (isAmbiguous(node.value, depth > 2)) node.type = Scalar.QUOTE_SINGLE;
    },
  });
  return document.toString(style).replace(unescaped, escaped).replace(pointless, '$1.0e');
}

type Shown = Pick<Crawler, 'domain' | 'settings'>;

/** Keys that are there only when they say something. */
function optional({ settings }: Shown) {
  const { include, allowed_domains, sitemap, assets, webhook_url, webhook_extra_vars } = settings;
  const { network_intercept: intercept, parser } = assets;
  const isUsual = isDeepStrictEqual(assets, initialSettings().assets);
  return {
    ...(include.length > 0 && { include }),
    ...(allowed_domains.length > 0 && { allowed_domains, merge_domains: true }),
    ...(sitemap.length > 0 && { sitemap: sitemap.map(({ url, recursive }) => ({ url, recursive })) }),
    ...(!isUsual && {
      assets: {
        network_intercept: {
          enabled: intercept.enabled,
          timeout: intercept.timeout,
          execute_js: intercept.execute_js,
        },
        parser: { enabled: parser.enabled },
      },
    }),
    ...(webhook_url !== undefined && {
      webhook: { url: webhook_url, ...(webhook_extra_vars !== undefined && { extra_vars: webhook_extra_vars }) },
    }),
  };
}

/**
 * The documented text `config` of a crawler.
 * @param headers those the reader may see
 */
export function configYaml(crawler: Shown, headers: Readonly<Record<string, string>>, defaults: CrawlDefaults): string {
  const { domain, settings } = crawler;
  return write({
    config: {
      user_agent: settings.user_agent ?? defaults.user_agent,
      browser_mode: settings.browser_mode,
      workers: settings.workers,
      depth: settings.depth,
      max_hits: settings.max_hits,
      max_html: settings.max_html ?? defaults.max_html,
      cache: false,
      delay: settings.delay,
      status_ok: settings.status_ok,
      options: { enabled: true, max_errors: settings.max_errors },
      start_url: settings.start_urls,
      exclude: settings.exclude,
      headers,
      ...optional(crawler),
    },
    domain,
    headers: {},
  });
}

/** The documented text `urls_list` of a crawler. */
export const urlsListYaml = ({ settings }: Pick<Crawler, 'settings'>): string => write({ single_url: settings.urls });

type CrawlerRecord = z.output<typeof crawler>;
type CrawlerSummary = z.output<typeof crawlerSummary>;
type Context = Pick<CrawlerContext, 'em' | 'services' | 'crawlers' | 'organization' | 'project' | 'grant' | 'signal'>;

/** The newest run of each crawler that has one, by the crawler. */
async function lastRunsOf(em: EntityManager, rows: readonly Pick<Crawler, 'id'>[]) {
  const newest = await em.execute<{ id: number }[]>(
    `select max(id) as id from crawler_run
     where crawler_id in (select id::integer from unnest(string_to_array(?, ' ')) as id) group by crawler_id`,
    [rows.map(({ id }) => id).join(' ')],
  );
  const where = { id: { $in: newest.map(({ id }) => id) } };
  const runs = await em.find(CrawlerRun, where, { refresh: true, exclude: frozen });
  return new Map((await runRecords(em, runs)).map((run) => [run.crawler_config_id, run]));
}

/** Crawlers without their settings, in the order given. */
export async function crawlerSummaries(context: Context, rows: readonly LocatedCrawler[]): Promise<CrawlerSummary[]> {
  const { em, crawlers, organization } = context;
  const standing = await verificationStatesOf(em, crawlers.limits, organization);
  const lastRuns = await lastRunsOf(em, rows);
  return rows.map((row) => {
    const { state, method, checked_at } = standing(row.host);
    return {
      id: row.id,
      uuid: row.uuid,
      project_id: row.project_id,
      domain_verified: state === 'verified' ? 1 : 0,
      domain: row.domain,
      name: row.name,
      verification: { state, method, checked_at },
      published_snapshot_id: row.published_snapshot_id ?? null,
      last_run: lastRuns.get(row.id) ?? null,
      created_at: row.created_at,
      updated_at: row.updated_at,
      deleted_at: row.deleted_at ?? null,
    };
  });
}

/** Crawlers as the caller may see them, in the order given: what may hold credentials only with edit_crawlers. */
async function crawlerRecords(context: Context, rows: readonly Crawler[]): Promise<CrawlerRecord[]> {
  const { services, crawlers, organization, project, grant, signal } = context;
  const defaults = crawlDefaults(services.settings, crawlers.limits, organization);
  const seesSecrets = grant.permissions.has('edit_crawlers');
  const summaries = await crawlerSummaries(context, rows);
  const records = [];
  const pace = new Pace();
  // One after the other: the texts of each may be large, and the caller may be gone before the last one.
  for (const [index, row] of rows.entries()) {
    if (pace.isDue) await pace.yield();
    signal.throwIfAborted();
    const secrets = seesSecrets ? await openCrawlerSecrets(services, project, row) : null;
    const { start_urls_unset: _, ...settings } = row.settings;
    records.push({
      ...(summaries[index] as CrawlerSummary),
      config: configYaml(row, secrets?.headers ?? {}, defaults),
      urls_list: urlsListYaml(row),
      ...settings,
      max_html: settings.max_html ?? defaults.max_html,
      user_agent: settings.user_agent ?? defaults.user_agent,
      ...secrets,
      merge_domains: settings.allowed_domains.length > 0,
    });
  }
  return records;
}

/** One crawler as the caller may see it. */
export async function crawlerRecord(context: Context, row: Crawler): Promise<CrawlerRecord> {
  const [record] = await crawlerRecords(context, [row]);
  return record as CrawlerRecord;
}

/** Takes room for the records of crawlers, which have the settings twice: as they are, and as YAML. @throws like `roomForPage` */
export const roomForSettings = (context: Pick<CrawlerContext, 'em' | 'room'>, ids: readonly number[]): Promise<void> =>
  roomForPage(context, { table: 'crawler', column: 'settings', times: 2 }, ids);

/** Crawlers by their ids, in order, when room has been taken for them. @throws like `roomForPage` */
export async function readCrawlers(
  context: Context & Pick<CrawlerContext, 'room'>,
  ids: readonly number[],
): Promise<CrawlerRecord[]> {
  await roomForSettings(context, ids);
  const where = { id: { $in: [...ids] } };
  const rows = await context.em.find(Crawler, where, { orderBy: { id: 'asc' }, disableIdentityMap: true });
  return crawlerRecords(context, rows as Crawler[]);
}
