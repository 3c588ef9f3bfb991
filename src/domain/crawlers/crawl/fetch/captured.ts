import type { BrowserAnswer } from '../../../../ports/browser.ts';
import type { FetchedAnswer } from '../../../../ports/fetcher.ts';
import type { FoundLink, PageFacts, ReadFault } from '../../../../ports/page-facts.ts';
import type { PageToRead } from '../../../../ports/page-reader.ts';
import type { UrlChange } from '../../frontier/crawl-url.entity.ts';
import type { LeasedUrl } from '../../frontier/lease.ts';
import { type Beside, type Outcome, type Outlinks, outcomeOf } from '../../frontier/outcome.ts';
import { urlHash } from '../../frontier/url-draft.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import type { EntryDraft } from '../../snapshots/snapshot-entries.ts';
import { normalise } from '../../urls/normalise.ts';
import { discover, discoverAgain, ledNowhere } from '../discover.ts';
import type { BaseEntry } from './base-entries.ts';
import type { FetchContext } from './fetch-context.ts';
import { readSitemapOf } from './sitemap.ts';

/** A page as a browser shows it. */
export interface ShownPage {
  /** Null when only its requests were wanted. */
  html: string | null;
  url: string;
  navigations: string[];
  /** Time was up before it was loaded. */
  isCut: boolean;
  /** HTML of the site that the page requested; the run fetches it as a URL of its own. */
  leftToRun: string[];
  beside: Beside;
}

/** A page that could not be shown: its URL ends in `browser`, or is tried again. */
export class BrowserFault extends Error {
  override name = 'BrowserFault';
  readonly isRetryable: boolean;
  /** What was fetched for it all the same. */
  readonly beside: Beside;

  constructor(message: string, isRetryable: boolean, beside: Beside) {
    super(message);
    this.isRetryable = isRetryable;
    this.beside = beside;
  }
}

/** Headers worth replaying; those of cookies and of the connection are none. */
const replayed = [
  'access-control-allow-origin',
  'cache-control',
  'content-disposition',
  'content-language',
  'content-security-policy',
  'expires',
  'link',
  'x-robots-tag',
];

const textOf = (value: string | string[] | undefined): string | null =>
  value === undefined ? null : Array.isArray(value) ? value.join(', ') : value;

/** Characters of the headers of one answer that are worth replaying; what is beyond is left out, and so is a longer validator. */
const mostReplayed = 8 * 1024;
const longestValidator = 1024;

const validatorOf = (value: string | string[] | undefined): string | null => {
  const text = textOf(value);
  return text !== null && text.length <= longestValidator ? text : null;
};

function replayedHeaders({ headers }: FetchedAnswer): Record<string, string> | null {
  let left = mostReplayed;
  const kept = replayed.flatMap((name) => {
    const value = textOf(headers[name]);
    if (value === null || value.length > left) return [];
    left -= value.length;
    return [[name, value] as const];
  });
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

/** What an answer leaves in the snapshot. */
export function entryOf(
  context: FetchContext,
  of: LeasedUrl,
  answer: FetchedAnswer,
  given: Partial<EntryDraft>,
): EntryDraft {
  return {
    url: of.url,
    url_hash: urlHash(of.url),
    kind: of.kind,
    http_status: answer.status,
    content_type: answer.contentType?.slice(0, longestValidator) ?? null,
    charset: null,
    headers: replayedHeaders(answer),
    sha256: null,
    bytes: 0,
    redirect_to: null,
    etag: validatorOf(answer.headers.etag),
    last_modified: validatorOf(answer.headers['last-modified']),
    outlinks_sha256: null,
    request_hash: context.headersFor(of.url).hash,
    first_seen_run: context.run.id,
    fetched_at: context.services.clock.now(),
    ...given,
  };
}

/** What a captured document says. */
interface Reading {
  facts: PageFacts;
  outlinks: Outlinks;
  /** As scripts have left it, when a browser has shown it for its links. */
  html: string | null;
  beside: Beside | null;
  log: LogLine[];
}

const mediaType = (contentType: string | null) => (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** Whether a captured response is an HTML page. */
const isHtmlPage = ({ kind }: LeasedUrl, contentType: string | null): boolean =>
  kind === 'page' && /^(text\/html|application\/xhtml\+xml)$/.test(mediaType(contentType));

/** How a document is to be read; null: it leads nowhere. */
function documentKind(of: LeasedUrl, contentType: string | null): PageToRead['kind'] | null {
  if (isHtmlPage(of, contentType)) return 'html';
  const type = mediaType(contentType);
  if (type === 'text/css') return 'css';
  return type === 'application/manifest+json' ? 'manifest' : null;
}

/** What of a page is kept for a later 304. A page that asks for it has none of its links followed. */
const outlinksOf = ({ links, assets, canonical, robots }: PageFacts): Outlinks => ({
  links: robots.nofollow ? [] : links.map(({ url, relation }) => [url, relation]),
  assets: assets.map(({ url, relation }) => [url, relation]),
  canonical,
});

/** What a crawl knows of a document it has fetched. */
interface CapturedDocument extends BrowserAnswer {
  /** The body is only the beginning. */
  isCut: boolean;
}

function faultsOf(of: LeasedUrl, { isCut }: CapturedDocument, { faults, linksCut }: PageFacts): LogLine[] {
  // A body that was cut off is read up to the cut.
  const all = new Set<ReadFault>([...(isCut ? (['too_large'] as const) : []), ...faults]);
  const lines: LogLine[] = [...all].map((fault) => ({
    level: 'warn',
    event: 'document_fault',
    message: `${of.url} was read in part only: ${fault}`,
    data: { url: of.url, fault },
  }));
  if (linksCut > 0)
    lines.push({
      level: 'warn',
      event: 'links_per_page',
      message: `${of.url} has ${linksCut} links and assets beyond the 10000 of each that are followed`,
      data: { url: of.url, cut: linksCut },
    });
  return lines;
}

function withoutTwice(links: readonly FoundLink[]): FoundLink[] {
  const seen = new Set<string>();
  return links.filter(({ url }) => !seen.has(url) && seen.add(url));
}

function cutShort({ url }: LeasedUrl, { isCut }: ShownPage): LogLine[] {
  if (!isCut) return [];
  const message = `${url} was not loaded in time, and is taken as it stood by then`;
  return [{ level: 'warn', event: 'page_timeout', message, data: { url } }];
}

/** Where a script navigated to, or what it requested. */
const byScript = (url: string): FoundLink => ({ url, relation: 'script' });

/** What a page says once its scripts have run: links as they are then, and what either form of it needs. */
async function readShown(
  context: FetchContext,
  of: LeasedUrl,
  page: Omit<PageToRead, 'bytes'>,
  { html, url, navigations, leftToRun }: ShownPage,
  served: PageFacts,
): Promise<PageFacts> {
  if (html === null) return { ...served, assets: withoutTwice([...served.assets, ...leftToRun.map(byScript)]) };
  const address = URL.parse(url)?.origin === new URL(of.url).origin ? url : of.url;
  const contentType = 'text/html; charset=utf-8';
  const bytes = Buffer.from(html);
  const dom = await context.reader.read({ ...page, bytes, url: address, contentType, charset: served.charset });
  const { origin, stripParams } = context.discovery.site;
  const gone = navigations.flatMap((to) => normalise(to, of.url, { origin, stripParams }) ?? []);
  const { noindex, nofollow, noarchive } = served.robots;
  return {
    ...dom,
    charset: served.charset,
    links: withoutTwice([...dom.links, ...gone.map(byScript)]),
    assets: withoutTwice([...served.assets, ...dom.assets, ...leftToRun.map(byScript)]),
    robots: {
      noindex: noindex || dom.robots.noindex,
      nofollow: nofollow || dom.robots.nofollow,
      noarchive: noarchive || dom.robots.noarchive,
    },
  };
}

/**
 * Reads what a captured document says; null when it leads nowhere. Robots directives of headers count as those in the page.
 * @throws BrowserFault
 */
async function readCaptured(
  context: FetchContext,
  of: LeasedUrl,
  contentType: string | null,
  document: CapturedDocument,
): Promise<Reading | null> {
  const kind = documentKind(of, contentType);
  if (kind === null) return null;
  const tag = document.headers['x-robots-tag'];
  const { site } = context.discovery;
  const page = {
    url: of.url,
    contentType,
    kind,
    parserOn: context.settings.assets.parser.enabled,
    origin: site.origin.href,
    stripParams: site.stripParams,
    ...(tag !== undefined && { robotsTag: tag }),
  };
  const shown = kind === 'html' && context.browser ? await context.browser.show(context, of, document) : null;
  const served = await context.reader.read({ ...page, bytes: document.body });
  const facts = shown ? await readShown(context, of, page, shown, served) : served;
  return {
    facts,
    outlinks: outlinksOf(facts),
    html: shown?.html ?? null,
    beside: shown?.beside ?? null,
    log: [...(shown ? cutShort(of, shown) : []), ...faultsOf(of, document, facts)],
  };
}

/** An answer whose body is stored. */
interface KeptAnswer extends FetchedAnswer {
  body: { sha256: string; size: number };
}

function changeOf(base: BaseEntry | undefined, sha256: string): UrlChange {
  if (!base?.sha256) return 'new';
  return base.sha256 === sha256 ? 'unchanged_hash' : 'changed';
}

/** An answer that is stored: an entry of the snapshot, with all it leads to. */
export async function captured(
  context: FetchContext,
  of: LeasedUrl,
  base: BaseEntry | undefined,
  answer: KeptAnswer,
): Promise<Outcome> {
  const { traps } = context.discovery;
  const { status, headers, bytes: body, isCut } = answer;
  const found = body && (await readCaptured(context, of, answer.contentType, { status, headers, body, isCut }));
  const dom = found?.html != null && context.browser?.storesDom ? found.html : null;
  // The document as it stands is not what the validators are of.
  const { sha256, size } = dom === null ? answer.body : await context.services.blobs.put(Buffer.from(dom));
  const contentType =
    dom === null ? (answer.contentType?.slice(0, longestValidator) ?? null) : 'text/html; charset=utf-8';
  const change = changeOf(base, sha256);
  const led =
    of.kind === 'sitemap'
      ? await readSitemapOf(context, of, sha256)
      : { ...(found ? await discover(context.discovery, of, found.outlinks) : ledNowhere), log: [] };
  const log = [...led.log, ...(found?.log ?? [])];
  if (of.kind !== 'sitemap') traps.captured(of.url, sha256);
  return outcomeOf(of, {
    state: 'done',
    http_status: answer.status,
    content_type: contentType,
    bytes: size,
    sha256,
    canonical: found?.facts.canonical ?? null,
    change,
    duration_ms: Math.round(answer.durationMs),
    bytes_wire: answer.bytesWire,
    is_html: isHtmlPage(of, answer.contentType),
    entry: entryOf(context, of, answer, {
      sha256,
      bytes: size,
      content_type: contentType,
      charset: dom === null ? (found?.facts.charset ?? null) : 'UTF-8',
      ...(dom !== null && { etag: null, last_modified: null }),
      ...(change === 'unchanged_hash' && base && { first_seen_run: base.first_seen_run }),
    }),
    outlinks: found?.outlinks ?? null,
    beside: found?.beside ?? null,
    drafts: led.drafts,
    link_keys: led.link_keys,
    log,
  });
}

/** A validator that the answer brings and that is another one than before. */
function newer<Name extends string>(name: Name, value: string | string[] | undefined, before: string | null) {
  const sent = validatorOf(Array.isArray(value) ? value[0] : value);
  return sent !== null && sent !== before ? ({ [name]: sent } as Record<Name, string>) : null;
}

/** What an unchanged page leads to once it is shown: its scripts may bring something else by now. */
async function showAgain(context: FetchContext, of: LeasedUrl, base: BaseEntry) {
  if (!context.browser || base.sha256 === null || !isHtmlPage(of, base.content_type)) return null;
  const earlier = await context.browser.answerOf(of, base);
  return earlier && readCaptured(context, of, base.content_type, { ...earlier, isCut: false });
}

/** What it leads to by what its browser shows, or by what was read of it before. */
function led(context: FetchContext, of: LeasedUrl, { outlinks: kept }: BaseEntry, shown: Reading | null) {
  if (shown) return discover(context.discovery, of, shown.outlinks);
  return kept === null ? ledNowhere : discoverAgain(context.discovery, of, kept);
}

/** A 304: the stored content is the present one, and leads where it led. */
export async function unchanged(
  context: FetchContext,
  of: LeasedUrl,
  base: BaseEntry,
  answer: FetchedAnswer,
): Promise<Outcome> {
  const { sha256, bytes, content_type } = base;
  const shown = await showAgain(context, of, base);
  const found =
    of.kind === 'sitemap' && sha256 !== null
      ? await readSitemapOf(context, of, sha256)
      : { ...(await led(context, of, base, shown)), log: [] };
  return outcomeOf(of, {
    state: 'done',
    http_status: base.http_status,
    content_type,
    bytes,
    sha256,
    canonical: (shown?.outlinks ?? base.outlinks)?.canonical ?? null,
    change: 'unchanged_304',
    from_cache: true,
    duration_ms: Math.round(answer.durationMs),
    bytes_wire: answer.bytesWire,
    is_html: isHtmlPage(of, content_type),
    again: {
      ...newer('etag', answer.headers.etag, base.etag),
      ...newer('last_modified', answer.headers['last-modified'], base.last_modified),
    },
    outlinks: shown?.outlinks ?? null,
    beside: shown?.beside ?? null,
    drafts: found.drafts,
    link_keys: found.link_keys,
    log: [...found.log, ...(shown?.log ?? [])],
  });
}
