import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { fieldError } from '../../../kernel/errors.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { fetchRobots, keepRobots, keptRobots } from '../crawl/open/host-robots.ts';
import { requestHeaders } from '../crawl/open/open-run.ts';
import type { CrawlerContext } from '../crawlers.ts';
import { crawlerOperation } from '../crawlers.ts';
import { createDecider } from '../urls/decide.ts';
import { normalise } from '../urls/normalise.ts';
import { disallowAll, type RobotsRules } from '../urls/robots.ts';
import { policyFor } from '../verification/trusted-domains.ts';
import { verificationStatesOf } from '../verification/verification-state.ts';
import { crawlDefaults } from './crawl-limits.ts';
import type { Crawler } from './crawler.entity.ts';
import { crawlerName } from './crawler.schema.ts';
import { roomForSettings } from './crawler-record.ts';
import { openCrawlerSecrets } from './crawler-secrets.ts';
import { findCrawler, locateCrawler, namedCrawler } from './find-crawler.ts';
import { hostOf, isDowngrade } from './host.ts';

const urlProblem = 'must be a path or an http(s) URL';

const urlTest = z
  .object({
    normalised: z.string().describe('The normalised URL that runs use'),
    in_scope: z.boolean(),
    decision: z.enum(['take', 'skip']).meta({ id: 'UrlDecision' }),
    rule: z.string().nullable().describe('Why it is skipped, such as `exclude[3]`; null when it is taken'),
    robots: z
      .enum(['allowed', 'disallowed', 'ignored', 'unreachable', 'not_asked'])
      .meta({ id: 'RobotsVerdict' })
      .describe('Result of the robots.txt of its host'),
  })
  .meta({ id: 'UrlTest' });

type Verdict = z.output<typeof urlTest>['robots'];

interface Site {
  origin: URL;
  /** The sibling of the primary host, once a run was led there. */
  siblings: string[];
}

/** Where the newest run of the same host began; without one, what the domain says. */
async function siteOf({ em }: Pick<ProjectContext, 'em'>, { id, host, domain }: Crawler): Promise<Site> {
  const [run] = await em.execute<{ origin: string; hosts: Record<string, { is_sibling?: boolean }> | null }[]>(
    'select origin, hosts from crawler_run where crawler_id = ? and origin is not null order by id desc limit 1',
    [id],
  );
  const scheme = hostOf(domain)?.scheme;
  const usual = new URL(`${scheme ?? 'https'}://${host}`);
  const began = run && URL.parse(run.origin);
  if (!began || began.host !== usual.host || (scheme && began.protocol !== `${scheme}:`))
    return { origin: usual, siblings: [] };
  return { origin: began, siblings: Object.keys(run.hosts ?? {}).filter((name) => run.hosts?.[name]?.is_sibling) };
}

/** The robots.txt rules of a host, from the cache or fetched now; null when the host is unreachable. */
async function robotsOf(context: CrawlerContext, crawler: Crawler, { origin, siblings }: Site, url: URL) {
  const { em, services, crawlers, project, organization, signal } = context;
  const kept = await keptRobots(em, project.id, url.host);
  if (kept) return kept;
  const secrets = await openCrawlerSecrets(services, project, crawler);
  const userAgent =
    crawler.settings.user_agent ?? crawlDefaults(services.settings, crawlers.limits, organization).user_agent;
  const isOwn = [origin.host, ...siblings].includes(url.host) && !isDowngrade(origin, url);
  const headers = requestHeaders({ userAgent, headers: secrets.headers, isOwn });
  const hosts = [crawler.host, ...crawler.settings.allowed_domains];
  const answer = await fetchRobots({
    fetcher: services.fetcher,
    origin: url.origin,
    request: { headers, policy: policyFor(crawlers.limits, { organization_id: organization.id, hosts }) },
    signal,
    pause: async (milliseconds) => void (await pause(milliseconds, undefined, { signal })),
  });
  if (answer.robots.state !== 'known') return null;
  await keepRobots(em, project.id, url.host, answer);
  return answer.robots.rules;
}

export const testUrl = crawlerOperation({
  name: 'crawlers.testUrl',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Check whether a crawler would fetch a URL, and why not',
  input: z.object({ ...crawlerName, url: z.string().min(1, urlProblem).max(8_192, 'must be at most 8192 characters') }),
  output: urlTest,
  find: namedCrawler,
  async execute(context, { crawler: name, url: text }) {
    const { em, crawlers, organization } = context;
    await roomForSettings(context, [(await locateCrawler(context, name)).id]);
    const crawler = await findCrawler(context, name);
    const { settings } = crawler;
    const site = await siteOf(context, crawler);
    const { origin, siblings } = site;
    const spell = (link: string) => normalise(link, origin, { origin, stripParams: crawlers.limits.strip_params });
    const normalised = spell(text);
    if (normalised === null) throw fieldError('invalid_request', 'url', urlProblem);
    const scope = { origin, hosts: [origin.host, ...siblings], allowed: settings.allowed_domains };
    const decide = await createDecider({ scope, include: settings.include, exclude: settings.exclude });
    const isEntry = [...settings.urls, ...settings.start_urls].some((entry) => spell(entry) === normalised);
    const plain = await decide(normalised, { kind: 'page', isEntry });
    const in_scope = plain.verdict === 'take' || plain.rule !== 'scope';
    const answer = (decision: typeof plain, robots: Verdict) => ({
      normalised,
      in_scope,
      decision: decision.verdict,
      rule: decision.verdict === 'skip' ? decision.rule : null,
      robots,
    });
    // As in a run, robots.txt is only fetched from hosts whose pages would be fetched.
    if (!in_scope) return answer(plain, 'not_asked');
    const url = new URL(normalised);
    const standing = await verificationStatesOf(em, crawlers.limits, organization);
    if (settings.ignore_robots && standing(url.host).state === 'verified') return answer(plain, 'ignored');
    const rules: RobotsRules | null = await robotsOf(context, crawler, site, url);
    const decision = await decide(normalised, { kind: 'page', isEntry, robots: rules ?? disallowAll });
    if (!rules) return answer(decision, 'unreachable');
    return answer(decision, rules.isAllowed(normalised) ? 'allowed' : 'disallowed');
  },
});
