import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { faultOf } from '../../../kernel/parse.ts';
import type { Settings } from '../../../kernel/services.ts';
import { yieldLoop } from '../../../lib/concurrency.ts';
import { pointer } from '../../../lib/json-pointer.ts';
import { defined } from '../../../lib/objects.ts';
import type { OrganizationRef } from '../../organizations/organization.entity.ts';
import { crawlableHost, domainFault, registrableDomain } from '../verification/trusted-domains.ts';
import { type CrawlDefaults, type CrawlLimits, crawlDefaults, usualStartUrls } from './crawl-limits.ts';
import type { Crawler } from './crawler.entity.ts';
import { type CrawlerSecrets, crawlerFields, initialSettings, type StoredSettings } from './crawler.schema.ts';
import { type Host, hostOf, hostText, siblingOf } from './host.ts';

/** A crawler as it would be after a change. */
export interface Candidate {
  domain: string;
  host: string;
  name: string;
  settings: StoredSettings;
  secrets: CrawlerSecrets;
}

/** What a change begins with. */
type Base = Pick<Crawler, 'name' | 'host' | 'settings'> & { secrets: CrawlerSecrets };

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
function candidateOf(
  base: Base | null,
  values: DraftValues,
  { domain, host }: Pick<Candidate, 'domain' | 'host'>,
  defaults: CrawlDefaults,
): Candidate {
  const initial = initialSettings();
  const before = base?.settings ?? initial;
  const { name } = values;
  // A default name follows the host.
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

type Fields = typeof crawlerFields;
type FieldName = keyof Fields;
type Values = { [Name in FieldName]: z.output<Fields[Name]> };

/** What a body says field by field: a value, null for "as by default", or nothing. */
export type DraftValues = { [Name in FieldName]?: Values[Name] | null };

/** A fault of a field, or of a place in it. */
interface DraftFault {
  field: FieldName;
  /** Below the field. */
  path: readonly PropertyKey[];
  /** What is wrong, as it follows the field's name. */
  message: string;
}

const fieldNames = Object.keys(crawlerFields) as FieldName[];

/** `[2].url` of a place below a field. */
const placeText = (path: readonly PropertyKey[]) =>
  path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');

/** A fault in words that name its place below the field. */
const faultAt = (field: FieldName, path: readonly PropertyKey[], problem: string): DraftFault => ({
  field,
  path,
  message: [placeText(path), problem].filter(Boolean).join(path.length > 0 ? ' ' : ''),
});

function readField<Name extends FieldName>(values: DraftValues, name: Name, given: unknown): DraftFault[] {
  if (given === null && name !== 'domain') {
    values[name] = null as DraftValues[Name];
    return [];
  }
  const parsed = crawlerFields[name].safeParse(given ?? undefined, { reportInput: true });
  if (parsed.success) {
    values[name] = parsed.data as DraftValues[Name];
    return [];
  }
  return parsed.error.issues.map((issue) => faultAt(name, issue.path, faultOf(issue)));
}

/** Reads every known field of a body on its own: those at fault are left out of the values. */
function readDraft(raw: Readonly<Record<string, unknown>>): { values: DraftValues; faults: DraftFault[] } {
  const values: DraftValues = {};
  const faults = fieldNames.flatMap((name) => {
    const given = Object.hasOwn(raw, name) ? raw[name] : undefined;
    return given === undefined && name !== 'domain' ? [] : readField(values, name, given);
  });
  return { values, faults };
}

/**
 * Instructions of all compiled patterns of a list. Every run compiles them anew, and each URL may have to pass them all, on the thread that
 * serves everybody: a million steps take some milliseconds, and a URL has up to 2,048 characters. A pattern has about as many instructions
 * as characters, so this refuses none but counted repetitions.
 */
const maxProgram = 125_000;
/** Instructions of one pattern that has more of them than characters: nothing else has its turn while a URL is held against it. */
const maxRepeated = 1_000;
/** Instructions of a pattern beside those its characters stand for. */
const frame = 10;
const maxCause = 200;

const causeOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).replace(/^error parsing regexp: /, '').slice(0, maxCause);

/** Faults of patterns that are no regular expressions of RE2's syntax. Others have their turn between two of them. */
async function patternFaults(field: 'include' | 'exclude', patterns: readonly string[]): Promise<DraftFault[]> {
  if (patterns.length === 0) return [];
  const { RE2JS } = await import('re2js');
  const faults: DraftFault[] = [];
  let size = 0;
  for (const [index, pattern] of patterns.entries()) {
    const refuse = (cause: string) => faults.push(faultAt(field, [index], `is not a valid pattern: ${cause}`));
    try {
      const own = RE2JS.compile(pattern).programSize();
      if (own > Math.max(maxRepeated, pattern.length + frame))
        refuse('its counted repetitions are too large; repeat less, or split it into several patterns');
      size += own;
    } catch (error) {
      refuse(causeOf(error));
    }
    if (size > maxProgram) {
      refuse('the patterns before it and it are too large together');
      break;
    }
    await yieldLoop();
  }
  return faults;
}

/** Control characters would vanish in the parser, and the address be another one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const form = /^(?:\/|https?:\/\/)[^\u0000-\u001f\u007f]*$/i;

/** The address a path or URL means on a host; null when it is neither. */
function addressOf(text: string, host: Host): URL | null {
  const url = form.test(text) ? URL.parse(text, `https://${hostText(host)}/`) : null;
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  return isPlain ? url : null;
}

/** An entry of `allowed_domains` in its normal form; null when it is no host. A wildcard stands below a name that has an owner. */
function allowedHost(text: string): string | null {
  const isWildcard = text.startsWith('*.');
  const host = hostOf(isWildcard ? text.slice(2) : text.trim());
  if (!host || (isWildcard && (host.scheme !== null || host.port !== null || host.is_address))) return null;
  return `${isWildcard ? '*.' : ''}${hostText(host)}`;
}

const isAllowed = (allowed: readonly string[], { name, port }: Host) =>
  allowed.some((entry) =>
    entry.startsWith('*.') ? port === null && name.endsWith(entry.slice(1)) : entry === hostText({ name, port }),
  );

/** Whether a path or URL of a setting lies in a crawl of `host` and the allowed domains. */
export function isInScope(text: string, host: Host, allowed: readonly string[]): boolean {
  const url = addressOf(text, host);
  const there = url && hostOf(url.origin);
  if (!there) return false;
  if (there.port === host.port && (there.name === host.name || there.name === siblingOf(host.name))) return true;
  return isAllowed(allowed, there);
}

/** Whether a setting is a path or an http(s) URL of any host. */
const isPathOrUrl = (text: string, host: Host) => addressOf(text, host) !== null;

/** Faults of a list of paths and URLs. */
const urlFaults = (field: FieldName, urls: readonly string[], host: Host, allowed: readonly string[]): DraftFault[] =>
  [...urls.entries()]
    .filter(([, url]) => !isInScope(url, host, allowed))
    .map(([index]) => faultAt(field, [index], 'must be a path or an http(s) URL of an allowed domain'));

const maxFaults = 100;

interface Surroundings {
  settings: Settings;
  limits: CrawlLimits;
  organization: OrganizationRef;
}

/** Brings the entries of `allowed_domains` into their normal form. */
function readAllowed(values: DraftValues): DraftFault[] {
  const faults: DraftFault[] = [];
  if (!values.allowed_domains) return faults;
  values.allowed_domains = values.allowed_domains.map((entry, index) => {
    const host = allowedHost(entry);
    const isFree = host?.startsWith('*.') && registrableDomain(host.slice(2)) === null;
    if (host === null || isFree) faults.push(faultAt('allowed_domains', [index], 'must be a host name'));
    return host ?? entry;
  });
  return faults;
}

/** Faults that show only in the whole: a change of one field may put another in the wrong. */
function faultsOfWhole({ settings }: Candidate, values: DraftValues, host: Host, isMoved: boolean): DraftFault[] {
  const { urls, start_urls, sitemap, allowed_domains } = settings;
  const isScoped = isMoved || values.allowed_domains !== undefined;
  const isBare = start_urls.length === 0 && urls.length === 0 && sitemap.length === 0;
  return [
    ...(isScoped || values.urls !== undefined ? urlFaults('urls', urls, host, allowed_domains) : []),
    ...(isScoped || values.start_urls !== undefined ? urlFaults('start_urls', start_urls, host, allowed_domains) : []),
    ...(isBare ? [faultAt('start_urls', [], 'needs an entry when urls and sitemap are empty')] : []),
    ...sitemap
      .map(({ url }, index) => ({ url, index }))
      .filter(({ url }) => !isPathOrUrl(url, host))
      .map(({ index }) => faultAt('sitemap', [index, 'url'], 'must be a path or an http(s) URL')),
  ];
}

/** @throws DomainError `invalid_request` when there are faults; it names the first in the order of the fields */
function refuse(faults: readonly DraftFault[]): void {
  const sorted = faults.toSorted((a, b) => fieldNames.indexOf(a.field) - fieldNames.indexOf(b.field));
  const [first] = sorted;
  if (!first) return;
  const errors = sorted.slice(0, maxFaults).map(({ field, path, message }) => ({
    field: pointer([field, ...path]),
    code: 'invalid_request',
    message,
  }));
  throw new DomainError('invalid_request', `${first.field}: ${first.message}`, { details: { errors } });
}

/**
 * Checks what a body makes of a crawler, all fields at once.
 * @param base the crawler as it is; null for a new one
 * @returns the crawler as it would be, and the fields of the body
 * @throws DomainError `invalid_request` with every fault, the first in the order of the fields in front
 */
export async function reviewDraft(
  raw: Readonly<Record<string, unknown>>,
  base: Base | null,
  { settings, limits, organization }: Surroundings,
): Promise<{ next: Candidate; values: DraftValues }> {
  const { values, faults } = readDraft(raw);
  const host = values.domain == null ? null : crawlableHost(values.domain, limits.trusted_domains);
  if (values.domain != null && host === null) faults.push(faultAt('domain', [], domainFault(values.domain)));
  faults.push(...readAllowed(values));
  for (const field of ['include', 'exclude'] as const)
    faults.push(...(await patternFaults(field, values[field] ?? [])));
  const place = { domain: values.domain ?? '', host: host ? hostText(host) : '' };
  const next = candidateOf(base, values, place, crawlDefaults(settings, limits, organization));
  // A field at fault is not in the whole: what is said of the others must not follow from that.
  const isWhole =
    host !== null &&
    !faults.some(({ field }) => field === 'allowed_domains' || field === 'urls' || field === 'sitemap');
  if (host && isWhole) faults.push(...faultsOfWhole(next, values, host, next.host !== base?.host));
  refuse(faults);
  return { next, values };
}
