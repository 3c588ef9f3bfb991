import { z } from 'zod';
import { crawlerFields } from './crawler-fields.ts';

const { headers, webhook_auth_header, ...open } = crawlerFields;

/** The settings of a crawler with every default filled in, and nothing secret: what a run gets a frozen copy of. */
export const crawlerSettings = z.object({
  ...open,
  webhook_url: open.webhook_url.optional(),
  webhook_extra_vars: open.webhook_extra_vars.optional(),
  max_html: open.max_html.optional().describe('Absent: it follows the limit of the organisation'),
  user_agent: open.user_agent.optional().describe('Absent: it follows the default of the service'),
});
export type CrawlerSettings = z.output<typeof crawlerSettings>;

/** What is sealed: it may hold credentials. */
export const crawlerSecrets = z.object({ headers, webhook_auth_header: webhook_auth_header.optional() });
export type CrawlerSecrets = z.output<typeof crawlerSecrets>;

const usual = <T extends z.ZodType>(field: T) => field.nullable().optional();

/** What a body may say: all but the domain may be absent, and null stands for the default. */
export const crawlerDraft = {
  domain: open.domain,
  name: usual(open.name),
  browser_mode: usual(open.browser_mode),
  urls: usual(open.urls),
  start_urls: usual(open.start_urls),
  headers: usual(headers),
  include: usual(open.include),
  exclude: usual(open.exclude),
  webhook_url: usual(open.webhook_url),
  webhook_auth_header: usual(webhook_auth_header),
  webhook_extra_vars: usual(open.webhook_extra_vars),
  workers: usual(open.workers),
  delay: usual(open.delay),
  depth: usual(open.depth),
  max_hits: usual(open.max_hits),
  max_html: usual(open.max_html),
  max_errors: usual(open.max_errors),
  status_ok: usual(open.status_ok),
  sitemap: usual(open.sitemap),
  allowed_domains: usual(open.allowed_domains),
  user_agent: usual(open.user_agent),
  assets: usual(open.assets),
  ignore_robots: usual(open.ignore_robots),
  browser_config: usual(open.browser_config),
  publish: usual(open.publish),
};

/** How a crawler is named in paths: its UUID in any case, or its number. */
export const crawlerName = { crawler: z.string().describe('UUID of the crawler, or its number') };
