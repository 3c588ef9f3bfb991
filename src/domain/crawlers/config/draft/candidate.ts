import { defined } from '../../../defined.ts';
import { type CrawlDefaults, initialSettings, usualStartUrls } from '../crawl-defaults.ts';
import type { Crawler, StoredSettings } from '../crawler.entity.ts';
import type { CrawlerSecrets } from '../crawler.schema.ts';
import type { DraftValues } from './draft-fields.ts';

/** A crawler as it would be after a change. */
export interface Candidate {
  domain: string;
  host: string;
  name: string;
  settings: StoredSettings;
  secrets: CrawlerSecrets;
}

/** What a change begins with. */
export type Base = Pick<Crawler, 'name' | 'host' | 'settings'> & { secrets: CrawlerSecrets };

/** A value equal to its present default is not kept: it goes on following the default. */
function kept<T>(sent: T | null | undefined, stored: T | undefined, usual: T): T | undefined {
  const value = sent === undefined ? stored : (sent ?? undefined);
  return value === usual ? undefined : value;
}

function startUrls(base: StoredSettings, values: DraftValues, urls: string[]) {
  const { start_urls: sent } = values;
  const usual = usualStartUrls(urls);
  const isSame = (all: readonly string[]) => JSON.stringify(sent) === JSON.stringify(all);
  // What was read and is sent back says nothing new.
  const unset = sent === null || (base.start_urls_unset === true && (sent === undefined || isSame(base.start_urls)));
  if (unset && (sent == null || isSame(usual))) return { start_urls: usual, start_urls_unset: true };
  return { start_urls: sent ?? base.start_urls };
}

function secretsOf({ headers, webhook_auth_header }: DraftValues, stored: CrawlerSecrets): CrawlerSecrets {
  const auth = webhook_auth_header === undefined ? stored.webhook_auth_header : (webhook_auth_header ?? undefined);
  return {
    headers: headers === undefined ? stored.headers : (headers ?? {}),
    ...(auth !== undefined && { webhook_auth_header: auth }),
  };
}

/** The fields of a body as settings: null is the value by default. */
function laidSettings(values: DraftValues, initial: StoredSettings): Partial<StoredSettings> {
  const { name: _n, domain: _d, headers: _h, webhook_auth_header: _a, start_urls: _s, ...said } = values;
  const usual = new Map<string, unknown>(Object.entries(initial));
  const entries = Object.entries(said).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([field, value]) => [field, value ?? usual.get(field)]));
}

/**
 * Lays the fields of a body over a crawler: what is absent stays, what is null is as by default again.
 * @param base null for a new crawler
 */
export function candidateOf(
  base: Base | null,
  values: DraftValues,
  { domain, host }: Pick<Candidate, 'domain' | 'host'>,
  defaults: CrawlDefaults,
): Candidate {
  const initial = initialSettings();
  const before = base?.settings ?? initial;
  const { name } = values;
  // A name nobody chose follows the host.
  const follows = name === null || (name === undefined && (base === null || base.name === base.host));
  const { start_urls_unset: _, ...merged } = { ...before, ...laidSettings(values, initial) };
  return {
    domain,
    host,
    name: follows ? host : (name ?? base?.name ?? host),
    settings: defined({
      ...merged,
      ...startUrls(before, values, merged.urls),
      max_html: kept(values.max_html, before.max_html, defaults.max_html),
      user_agent: kept(values.user_agent, before.user_agent, defaults.user_agent),
    }) as StoredSettings,
    secrets: secretsOf(values, base?.secrets ?? { headers: {} }),
  };
}
