import { z } from 'zod';
import { anyCase, openAddressOf, withoutNul } from '../../../kernel/shapes.ts';

const noText = { error: 'must be text without NUL', abort: true };

/**
 * A string that can be stored and sent: PostgreSQL and HTTP take no NUL, and no half of a surrogate pair, which JSON Schema has no words for.
 * @param problem what is said of anything that is no string
 */
export const plainText = (problem: string) =>
  z
    .string(problem)
    .regex(withoutNul, noText)
    .refine((text) => text.isWellFormed(), noText);

/** A field value of RFC 9110 5.5: one line of bytes, at most `max` of them. */
const headerValue = (problem: string, max: number) =>
  z
    .string(problem)
    .max(max, problem)
    .regex(/^[\t\u0020-\u007e\u0080-\u00ff]*$/, problem);

const maxInteger = 2 ** 31 - 1;

/** An integer from `min` on that a column of 32 bits holds. @param max when there is one, `problem` names it */
const integerFrom = (min: number, problem: string, max?: number) =>
  z
    .int(problem)
    .min(min, problem)
    .max(max ?? maxInteger, max === undefined ? `must be at most ${maxInteger}` : problem);

const maxHeaders = 50;
const maxValue = 4_096;

/** Token of RFC 9110 5.6.2. */
const token = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/.source;

/** Headers that frame the message, or that the crawler itself has to set rightly. */
const ours = 'host,content-length,connection,transfer-encoding,upgrade,te,trailer,keep-alive,accept-encoding,range';
const notOurs = `(?!(?:${anyCase(ours).replaceAll(',', '|')})$|${anyCase('proxy-')}|${anyCase('if-')})`;
const tokenName = new RegExp(`^${token}$`);
const headerName = new RegExp(`^${notOurs}${token}$`);

const value = headerValue('', maxValue);

const { $schema: _, ...describedValue } = z.toJSONSchema(value);

function faultOf(name: string, given: unknown): string | null {
  if (!tokenName.test(name)) return `${name} is not a valid header name`;
  if (!headerName.test(name)) return `${name} may not be set`;
  return value.safeParse(given).success ? null : `${name} has an invalid value`;
}

/** Headers a crawler sends with its requests, by name. */
const requestHeaders = z
  .record(z.string(), z.string('has an invalid value'), 'must be an object')
  .superRefine((headers, context) => {
    const names = Object.keys(headers);
    const issue = (message: string) => context.addIssue({ code: 'custom', message });
    if (names.length > maxHeaders) return issue(`must be at most ${maxHeaders} headers`);
    const seen = new Set<string>();
    for (const name of names) {
      const fault = faultOf(name, headers[name]);
      if (fault !== null) issue(fault);
      else if (seen.has(name.toLowerCase())) issue(`${name} is given twice`);
      seen.add(name.toLowerCase());
    }
  })
  .meta({
    description: 'Custom headers, header name to value; a name may be given once, in letters of either case',
    maxProperties: maxHeaders,
    propertyNames: { type: 'string', pattern: headerName.source },
    additionalProperties: describedValue,
  });

const yesNo = z.boolean('must be a boolean');
const percent = integerFrom(0, 'must be an integer from 0 to 100', 100);

const pathOrUrl = (fault: string) => plainText(fault).max(2_048, fault);
const address = pathOrUrl('must be a path or an http(s) URL of an allowed domain');

const patterns = z
  .array(plainText('is not a valid pattern: it is not a string').max(2_000, 'must be at most 2000 characters'))
  .max(1_000, 'must be at most 1000 patterns')
  .refine(
    (all) => all.reduce((sum, pattern) => sum + pattern.length, 0) <= 100_000,
    'must be at most 100000 characters together',
  );

const webUrl = plainText('must be an http(s) URL')
  .max(2_048, 'must be an http(s) URL')
  .regex(openAddressOf('https?'), { error: 'must be an http(s) URL', abort: true })
  .refine((text) => URL.canParse(text), 'must be an http(s) URL');

const pairsFault = 'must be key=value pairs joined by &';
const extraVars = plainText(pairsFault)
  .max(2_048, pairsFault)
  .regex(/^[^=&\s]+=[^&]*(?:&[^=&\s]+=[^&]*){0,49}$/, pairsFault);

const statusFault = 'must be a status code from 200 to 599';
const pageTime = 86_400;
const timeFault = `must be an integer from 1 to ${pageTime}`;

const networkIntercept = z.object({
  enabled: yesNo.default(false).describe('Enable network intercept'),
  timeout: integerFrom(1, timeFault, pageTime).default(30).describe('Request timeout in seconds'),
  execute_js: yesNo.default(true).describe('Execute JavaScript during asset collection'),
});
const parser = z.object({ enabled: yesNo.default(true).describe('Enable the asset-extraction parser') });

const idleFault = 'must be an integer from 0 to 60000';

/** Every setting of a crawler, in the order in which its faults are reported; rules across fields are in `draft.ts`. */
export const crawlerFields = {
  domain: plainText('must be a host name or an http(s) origin').trim().describe('Domain to crawl'),
  name: plainText('must be 1 to 255 characters')
    .trim()
    .min(1, 'must be 1 to 255 characters')
    .max(255, 'must be 1 to 255 characters')
    .describe('Crawler name; default: the host'),
  browser_mode: yesNo.describe('Enable browser mode'),
  urls: z.array(address).max(10_000, 'must be at most 10000 URLs').describe('URLs to crawl'),
  start_urls: z.array(address).max(1_000, 'must be at most 1000 URLs').describe('Starting URLs'),
  headers: requestHeaders,
  include: patterns.describe('URL patterns to include (regular expressions), at most 100000 characters together'),
  exclude: patterns.describe('URL patterns to exclude (regular expressions), at most 100000 characters together'),
  webhook_url: webUrl.describe('Notification webhook URL'),
  webhook_auth_header: headerValue('is not a valid header value', 4_096).describe(
    'Authorization header value sent to the webhook',
  ),
  webhook_extra_vars: extraVars.describe('Extra variables in query-string form (key=value pairs joined by &)'),
  workers: integerFrom(1, 'must be an integer from 1 to 20', 20).describe('Concurrent workers'),
  delay: z
    .number('must be a number from 0 to 10')
    .min(0, 'must be a number from 0 to 10')
    .max(10, 'must be a number from 0 to 10')
    .describe('Seconds between requests'),
  depth: integerFrom(-1, 'must be an integer of at least -1').describe('Maximum crawl depth; -1 is unlimited'),
  max_hits: integerFrom(0, 'must be an integer of at least 0').describe('Maximum total requests; 0 is unlimited'),
  max_html: integerFrom(0, 'must be an integer of at least 0').describe('Maximum HTML pages; 0 is unlimited'),
  max_errors: integerFrom(0, 'must be an integer of at least 0').describe('Errors tolerated before the crawl stops'),
  status_ok: z
    .array(z.int(statusFault).min(200, statusFault).max(599, statusFault))
    .min(1, 'must be 1 to 50 status codes')
    .max(50, 'must be 1 to 50 status codes')
    .overwrite((codes) => [...new Set(codes)])
    .describe('HTTP status codes whose responses are captured'),
  sitemap: z
    .array(
      z
        .object({
          url: pathOrUrl('must be a path or an http(s) URL').describe('Sitemap URL'),
          recursive: yesNo.default(false).describe('Follow sitemap links recursively'),
        })
        .meta({ id: 'CrawlerSitemap' }),
    )
    .max(100, 'must be at most 100 sitemaps'),
  allowed_domains: z
    .array(plainText('must be a host name').max(2_048, 'must be a host name'))
    .max(50, 'must be at most 50 domains')
    .describe('Domains allowed in multi-domain crawling; setting it enables merge_domains'),
  user_agent: z
    .string('is not a valid header value')
    .regex(/^(?=.*[!-~])[ -~]{1,512}$/, 'is not a valid header value')
    .describe('Custom user agent; applies only when browser_mode is false'),
  assets: z
    .object({ network_intercept: networkIntercept.prefault({}), parser: parser.prefault({}) })
    .meta({ id: 'CrawlerAssets' })
    .describe('Asset harvesting configuration'),
  ignore_robots: yesNo.describe('Crawl what robots.txt disallows; needs a verified domain'),
  browser_config: z
    .object({
      capture_api_responses: yesNo.default(false),
      wait_for_network_idle: integerFrom(0, idleFault, 60_000).default(0).describe('Milliseconds'),
      use_rendered_html: yesNo.default(false),
    })
    .meta({ id: 'CrawlerBrowserConfig' }),
  publish: z
    .object({
      auto: yesNo.default(true).describe('Publish a sound snapshot of a completed run'),
      max_lost_percent: percent.default(10),
      max_error_percent: percent.default(10),
    })
    .meta({ id: 'CrawlerPublish' }),
};

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

/** Settings as they lie in the row: what a caller left to its default is as it was at the last change. */
export interface StoredSettings extends Omit<CrawlerSettings, 'name' | 'domain'> {
  /** `start_urls` was never set: it follows `urls`. */
  start_urls_unset?: boolean;
}

/** The settings of a crawler that only has a domain. */
export const initialSettings = (): StoredSettings => ({
  browser_mode: false,
  urls: [],
  start_urls: ['/'],
  start_urls_unset: true,
  include: [],
  exclude: [],
  workers: 2,
  delay: 4,
  depth: -1,
  max_hits: 0,
  max_errors: 100,
  status_ok: [200],
  sitemap: [],
  allowed_domains: [],
  assets: open.assets.parse({}),
  ignore_robots: false,
  browser_config: open.browser_config.parse({}),
  publish: open.publish.parse({}),
});

/** What is sealed: it may hold credentials. */
const crawlerSecrets = z.object({ headers, webhook_auth_header: webhook_auth_header.optional() });
export type CrawlerSecrets = z.output<typeof crawlerSecrets>;

type Fields = typeof crawlerFields;

/** What a body may say: all but the domain may be absent, and null stands for the default. */
export const crawlerDraft = Object.fromEntries(
  Object.entries(crawlerFields).map(([name, field]) => [
    name,
    name === 'domain' ? field : (field as z.ZodType).nullable().optional(),
  ]),
) as { domain: Fields['domain'] } & {
  [Name in Exclude<keyof Fields, 'domain'>]: z.ZodOptional<z.ZodNullable<Fields[Name]>>;
};

/** How a crawler is named in paths: its UUID in any case, or its number. */
export const crawlerName = { crawler: z.string().describe('UUID of the crawler, or its number') };
