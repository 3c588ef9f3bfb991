import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Organization } from '../../../organizations/organization.entity.ts';
import { Project } from '../../../projects/project.entity.ts';
import { type CrawlDefaults, crawlDefaults } from '../../config/crawl-limits.ts';
import { Crawler } from '../../config/crawler.entity.ts';
import type { CrawlerSettings } from '../../config/crawler.schema.ts';
import { openCrawlerSecrets } from '../../config/crawler-secrets.ts';
import type { CrawlerServices } from '../../crawlers.ts';
import type { Budget } from '../../frontier/batch.ts';
import type { CrawlerRun } from '../../runs/crawler-run.entity.ts';
import { recheckBeforeRun } from '../../verification/record-check.ts';
import { policyFor } from '../../verification/trusted-domains.ts';
import { verificationStatesOf } from '../../verification/verification-state.ts';

/** What an unverified host gets, whatever was raised for the crawler. */
const unverifiedLimits = { delay: 4, inFlight: 2 };

/** The limits a run keeps to. */
interface EffectiveLimits {
  budget: Budget;
  workers: number;
  /** Seconds between starts on the primary host. */
  delay: number;
  ignoreRobots: boolean;
  /** The primary host is not verified (any more), and something was raised for it. */
  isClamped: boolean;
}

/** The smaller of two limits of which 0 is none. */
const tighter = (a: number, b: number) => (a === 0 ? b : b === 0 ? a : Math.min(a, b));

/**
 * The settings of a run as they hold for it: without verification nothing is more than an unverified crawler could ask for.
 * @param isVerified of the primary host, now
 * @param maxDepth of the server
 */
export function effectiveLimits(
  settings: Pick<
    CrawlerSettings,
    'workers' | 'delay' | 'max_hits' | 'max_html' | 'max_errors' | 'depth' | 'ignore_robots'
  >,
  { max_html: usual }: Pick<CrawlDefaults, 'max_html'>,
  { isVerified, maxDepth }: { isVerified: boolean; maxDepth: number },
): EffectiveLimits {
  const { workers, delay, max_hits, max_errors, depth, ignore_robots } = settings;
  const max_html = settings.max_html ?? usual;
  const budget = { max_hits, max_html, max_errors, depth: depth < 0 ? -1 : Math.min(depth, maxDepth) };
  if (isVerified) return { budget, workers, delay, ignoreRobots: ignore_robots, isClamped: false };
  const clamped = {
    budget: { ...budget, max_html: tighter(max_html, usual) },
    workers: Math.min(workers, unverifiedLimits.inFlight),
    delay: Math.max(delay, unverifiedLimits.delay),
    ignoreRobots: false,
  };
  const isClamped =
    clamped.workers !== workers || clamped.delay !== delay || clamped.budget.max_html !== max_html || ignore_robots;
  return { ...clamped, isClamped };
}

interface HeaderSources {
  userAgent: string;
  /** Of the crawler. */
  headers: Readonly<Record<string, string>>;
  /** Primary host and its sibling. */
  isOwn: boolean;
}

const credentials = new Set(['authorization', 'cookie']);

/** Headers of a request: those of the crawler go to its own hosts, and to allowed ones without credentials. */
export function requestHeaders({ userAgent, headers, isOwn }: HeaderSources): Record<string, string> {
  const sent: Record<string, string> = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'user-agent': userAgent };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (isOwn || !credentials.has(lower)) sent[lower] = value;
  }
  return sent;
}

/** A name for request headers: validators are only sent with requests whose headers have the same hash. */
export const requestHash = (headers: Readonly<Record<string, string>>): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(headers).sort()))
    .digest('base64url')
    .slice(0, 22);

/** A run with everything its worker looks up once. */
export interface OpenRun {
  run: CrawlerRun;
  organization_id: number;
  /** Bytes the organisation's snapshots may take; null: no limit. */
  quota: number | null;
  limits: EffectiveLimits;
  /** Scheme and host of the crawler's domain; the scheme is null when it names none. */
  domain: { scheme: string | null; host: string };
  policy: ReturnType<typeof policyFor>;
  /** How a host may be treated: limits raised for the crawler do not apply to unverified hosts. */
  limitsOf(host: string): { delay: number; inFlight: number };
  /** Headers of requests; `isOwn` for the primary host and its sibling. */
  headers(isOwn: boolean): { headers: Record<string, string>; hash: string };
}

/** Whether a run burdens its host more than a crawler of an unverified domain may. */
const isRaised = ({ workers, delay, max_html, ignore_robots }: CrawlerRun['settings']): boolean =>
  workers > unverifiedLimits.inFlight || delay < unverifiedLimits.delay || max_html !== undefined || ignore_robots;

/** @returns null when the crawler, or its project, is deleted */
export async function openRun(
  em: EntityManager,
  services: CrawlerServices,
  run: CrawlerRun,
  signal: AbortSignal,
): Promise<OpenRun | null> {
  const crawler = await em.findOne(Crawler, { id: run.crawler_id, deleted_at: null }, { disableIdentityMap: true });
  const project = await em.findOne(Project, { id: run.project_id, deleted_at: null }, { disableIdentityMap: true });
  if (!crawler || !project) return null;
  // What a first run asks for comes with its body.
  if (crawler.published_snapshot_id == null) services.pages.prepare();
  const organization = await em.findOneOrFail(
    Organization,
    { id: project.organization_id },
    { disableIdentityMap: true },
  );
  const { settings } = run;
  const { limits: crawl } = services.crawlers;
  const sealed = { uuid: crawler.uuid, version: run.secrets_version, secrets: run.secrets ?? null };
  const secrets = await openCrawlerSecrets(services, project, sealed);
  const defaults = crawlDefaults(services.settings, crawl, organization);
  if (run.status === 'provisioning' && isRaised(settings))
    await recheckBeforeRun(services, { organization_id: organization.id, host: crawler.host }, signal);
  const standing = await verificationStatesOf(em, crawl, organization);
  const match = /^(https?):\/\//i.exec(settings.domain);
  const isVerified = (host: string) => standing(host).state === 'verified';
  const limits = effectiveLimits(settings, defaults, {
    isVerified: isVerified(crawler.host),
    maxDepth: crawl.max_depth,
  });
  const known = new Map<string, { delay: number; inFlight: number }>();
  const limitsOf = (host: string) => {
    const before = known.get(host);
    if (before) return before;
    const own = { delay: limits.delay, inFlight: limits.workers };
    const found = isVerified(host)
      ? own
      : {
          delay: Math.max(limits.delay, unverifiedLimits.delay),
          inFlight: Math.min(limits.workers, unverifiedLimits.inFlight),
        };
    known.set(host, found);
    return found;
  };
  const forms = [false, true].map((isOwn) => {
    const userAgent = settings.user_agent ?? defaults.user_agent;
    const headers = requestHeaders({ userAgent, headers: secrets.headers, isOwn });
    return { headers, hash: requestHash({ ...headers, parser: String(settings.assets.parser.enabled) }) };
  });
  const [others, own] = forms as [(typeof forms)[number], (typeof forms)[number]];
  return {
    run,
    organization_id: organization.id,
    quota: organization.limits.crawl_bytes ?? crawl.quota_bytes,
    limits,
    domain: { scheme: match?.[1]?.toLowerCase() ?? null, host: crawler.host },
    policy: policyFor(crawl, {
      organization_id: organization.id,
      hosts: [crawler.host, ...settings.allowed_domains],
    }),
    limitsOf,
    headers: (isOwn) => (isOwn ? own : others),
  };
}
