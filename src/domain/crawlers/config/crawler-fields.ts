import { z } from 'zod';
import { openAddressOf } from '../../shapes.ts';
import { requestHeaders } from './header-fields.ts';
import { headerValue, integerFrom, plainText } from './text-fields.ts';

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

/** Every setting of a crawler, in the order its faults are told in; rules that need other fields are elsewhere. */
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
