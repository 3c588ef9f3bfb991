import type { Services } from '../../../../kernel/services.ts';
import type { CrawlFetcher } from '../../../../ports/fetcher.ts';
import type { CrawlerServices } from '../../crawlers.ts';
import type { CrawlerRun, RunHost } from '../../runs/crawler-run.entity.ts';
import type { RunEnding } from '../../runs/end-run.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import { fetchRobots, keepRobots, keptRobots, type Robots, type RobotsAnswer } from './host-robots.ts';
import type { OpenRun } from './open-run.ts';
import { entryDrafts } from './provision.ts';
import { type RobotsSource, RunSite } from './run-site.ts';

/** Where a run begins, and what the robots.txt there said. */
interface Settled {
  origin: URL;
  answer: RobotsAnswer;
}

const isSecure = (movedTo: string | null, host: string) => {
  const url = movedTo === null ? null : URL.parse(movedTo);
  return url?.protocol === 'https:' && url.host === host;
};

/**
 * Settles scheme and host of a run by fetching robots.txt, which is needed anyway: of a domain without a scheme https is tried,
 * then http, and the one that answers is taken. A host that redirects http to https is crawled by https.
 */
async function settleOrigin(
  { domain: { scheme, host }, policy, headers }: OpenRun,
  fetcher: CrawlFetcher,
  signal: AbortSignal,
  pause: (attempt: number) => Promise<void>,
): Promise<Settled> {
  const ask = async (origin: string): Promise<Settled> => ({
    origin: new URL(origin),
    answer: await fetchRobots({ fetcher, origin, request: { headers: headers(true).headers, policy }, signal, pause }),
  });
  if (scheme === 'https') return ask(`https://${host}`);
  if (scheme === null) {
    // One attempt only: many hosts speak http alone.
    const secure = await fetcher
      .fetch({ url: `https://${host}/robots.txt`, headers: headers(true).headers, policy, signal, read: 'none' })
      .then(({ ok }) => ok);
    if (secure) return ask(`https://${host}`);
  }
  const plain = await ask(`http://${host}`);
  return isSecure(plain.answer.movedTo, host) ? { ...plain, origin: new URL(`https://${host}`) } : plain;
}

/** Laid over what is there: of two notes at the same time none takes the other back. */
const noteSql = `
  update crawler_run set hosts = (coalesce(hosts::jsonb, '{}') || jsonb_build_object(?::text,
    coalesce(hosts::jsonb -> ?::text, '{}') || ?::jsonb))::json
  where id = ? and epoch = ?`;

/** What a run has found out about its hosts, kept on its row for its next worker. */
export class RunHosts {
  readonly #services: Pick<Services, 'orm'>;
  readonly #run: Pick<CrawlerRun, 'id' | 'epoch'>;
  readonly #hosts: Record<string, RunHost>;

  constructor(services: Pick<Services, 'orm'>, run: Pick<CrawlerRun, 'id' | 'epoch' | 'hosts'>) {
    this.#services = services;
    this.#run = run;
    this.#hosts = { ...run.hosts };
  }

  isDown(host: string): boolean {
    return this.#hosts[host]?.is_down === true;
  }

  /** The sibling of the primary host, when the start page led there. */
  get siblings(): string[] {
    return Object.keys(this.#hosts).filter((host) => this.#hosts[host]?.is_sibling);
  }

  async note(host: string, found: RunHost): Promise<void> {
    this.#hosts[host] = { ...this.#hosts[host], ...found };
    const { id, epoch } = this.#run;
    await this.#services.orm.em.fork().execute(noteSql, [host, host, JSON.stringify(found), id, epoch]);
  }
}

interface Options {
  services: CrawlerServices;
  open: OpenRun;
  hosts: RunHosts;
  log: LogLine[];
  signal: AbortSignal;
  pause(attempt: number): Promise<void>;
}

/** Log lines for a host's robots.txt. */
function robotsLog(host: string, { robots }: RobotsAnswer): LogLine[] {
  if (robots.state === 'unreachable')
    return [
      {
        level: 'warn',
        event: 'robots_unreachable',
        message: `${host}: nothing is fetched, because its robots.txt is unreachable: ${robots.message}`,
        data: { host },
      },
    ];
  const { sitemaps } = robots.rules;
  if (sitemaps.length === 0) return [];
  const data = { host, sitemaps: sitemaps.slice(0, 20) };
  return [{ level: 'info', event: 'robots_sitemaps', message: `${host} names ${sitemaps.length} sitemaps`, data }];
}

/** The robots.txt of hosts: from the project's cache, else fetched. */
function robotsSource({ services, open, hosts, log, signal, pause }: Options, origin: () => URL): RobotsSource {
  const { run, policy } = open;
  return async (host): Promise<Robots> => {
    const kept = await keptRobots(services.orm.em.fork(), run.project_id, host);
    if (kept) return { state: 'known', rules: kept };
    const { headers } = open.headers(host === origin().host || hosts.siblings.includes(host));
    const at = { fetcher: services.fetcher, origin: `${origin().protocol}//${host}`, request: { headers, policy } };
    const answer = await fetchRobots({ ...at, signal, pause });
    log.push(...robotsLog(host, answer));
    if (answer.robots.state === 'known') await keepRobots(services.orm.em.fork(), run.project_id, host, answer);
    return answer.robots;
  };
}

/** Opens the site of a run. @returns also why a run cannot begin */
export async function openSite(options: Options): Promise<{ site: RunSite; failure: RunEnding | null }> {
  const { services, open, hosts, log, signal, pause } = options;
  const { run, limits } = open;
  let settled: RobotsAnswer | null = null;
  let origin: URL;
  if (run.origin) origin = new URL(run.origin);
  else {
    const found = await settleOrigin(open, services.fetcher, signal, pause);
    ({ origin, answer: settled } = found);
    if (limits.isClamped)
      log.push({
        level: 'warn',
        event: 'limits_clamped',
        message: `${origin.host} is not verified: the limits of unverified domains hold`,
      });
    if (settled.robots.state === 'known')
      await keepRobots(services.orm.em.fork(), run.project_id, origin.host, settled);
  }
  const source = robotsSource(options, () => origin);
  const robots: RobotsSource | null = limits.ignoreRobots
    ? null
    : async (host) => (settled !== null && host === origin.host ? settled.robots : source(host));
  if (robots && settled) log.push(...robotsLog(origin.host, settled));
  const site = await RunSite.open({
    origin,
    hosts: hosts.siblings,
    settings: run.settings,
    robots,
    crawl: services.crawlers.limits,
  });
  await site.robots(origin.host);
  if (settled?.robots.state !== 'unreachable' || limits.ignoreRobots) return { site, failure: null };
  const isCovered = (await entryDrafts(open, site)).every(({ rule }) => rule !== null);
  const message = `robots.txt of ${origin.host} could not be had: ${settled.robots.message}`;
  return { site, failure: isCovered ? { status: 'failed', reason: 'robots_unreachable', message } : null };
}
