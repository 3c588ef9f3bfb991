import type { BrowserAnswer } from '../../../ports/browser.ts';
import type { PageToRead } from '../../../ports/page-reader.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { Beside, Outlinks } from '../../frontier/outcome.ts';
import type { FoundLink, PageFacts, ReadFault } from '../../pages/page-facts.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import { normalise } from '../../urls/normalise.ts';
import type { FetchContext } from './fetch-context.ts';
import type { ShownPage } from './shown-page.ts';

/** What a captured document says. */
export interface Reading {
  facts: PageFacts;
  outlinks: Outlinks;
  /** As scripts have left it, when a browser has shown it for its links. */
  html: string | null;
  beside: Beside | null;
  log: LogLine[];
}

const mediaType = (contentType: string | null) => (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** Whether a captured response is an HTML page. */
export const isHtmlPage = ({ kind }: ClaimedUrl, contentType: string | null): boolean =>
  kind === 'page' && /^(text\/html|application\/xhtml\+xml)$/.test(mediaType(contentType));

/** How a document is to be read; null: it leads nowhere. */
function documentKind(of: ClaimedUrl, contentType: string | null): PageToRead['kind'] | null {
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
export interface CapturedDocument extends BrowserAnswer {
  /** The body is only the beginning. */
  isCut: boolean;
}

function faultsOf(of: ClaimedUrl, { isCut }: CapturedDocument, { faults, linksCut }: PageFacts): LogLine[] {
  // Whoever reads it sees no more than was fetched to be read.
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
      message: `${of.url} has ${linksCut} links beyond the 10000 that are followed`,
      data: { url: of.url, cut: linksCut },
    });
  return lines;
}

function withoutTwice(links: readonly FoundLink[]): FoundLink[] {
  const seen = new Set<string>();
  return links.filter(({ url }) => !seen.has(url) && seen.add(url));
}

function cutShort({ url }: ClaimedUrl, { isCut }: ShownPage): LogLine[] {
  if (!isCut) return [];
  const message = `${url} was not loaded in time, and is taken as it stood by then`;
  return [{ level: 'warn', event: 'page_timeout', message, data: { url } }];
}

/** Where a script has gone, or what it has asked for. */
const byScript = (url: string): FoundLink => ({ url, relation: 'script' });

/** What a page says once its scripts have run: links as they are then, and what either form of it needs. */
async function readShown(
  context: FetchContext,
  of: ClaimedUrl,
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
export async function readCaptured(
  context: FetchContext,
  of: ClaimedUrl,
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
