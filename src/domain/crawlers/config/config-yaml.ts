import { Document, isCollection, isScalar, Scalar, type ToStringOptions, visit } from 'yaml';
import type { CrawlDefaults } from './crawl-defaults.ts';
import type { Crawler } from './crawler.entity.ts';

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
  const isUsual = !intercept.enabled && intercept.timeout === 30 && intercept.execute_js && parser.enabled;
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
