import type { FetchedAnswer } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { type Outcome, outcomeOf } from '../../frontier/outcome.ts';
import { discover, discoverAgain, ledNowhere } from '../discover/discover.ts';
import type { BaseEntry } from './base-entries.ts';
import type { FetchContext } from './fetch-context.ts';
import { isHtmlPage, type Reading, readCaptured } from './read-captured.ts';
import { readSitemapOf } from './sitemap.ts';

/** A validator that the answer brings and that is another one than before. */
function newer<Name extends string>(name: Name, value: string | string[] | undefined, before: string | null) {
  const sent = Array.isArray(value) ? value[0] : value;
  return sent !== undefined && sent !== before ? ({ [name]: sent } as Record<Name, string>) : null;
}

/** What an unchanged page leads to once it is shown: its scripts may bring something else by now. */
async function showAgain(context: FetchContext, of: ClaimedUrl, base: BaseEntry) {
  if (!context.browser || base.sha256 === null || !isHtmlPage(of, base.content_type)) return null;
  const earlier = await context.browser.answerOf(of, base);
  return earlier && readCaptured(context, of, base.content_type, { ...earlier, isCut: false });
}

/** What it leads to by what its browser shows, or by what was read of it before. */
function led(context: FetchContext, of: ClaimedUrl, { outlinks: kept }: BaseEntry, shown: Reading | null) {
  if (shown) return discover(context.discovery, of, shown.outlinks);
  return kept === null ? ledNowhere : discoverAgain(context.discovery, of, kept);
}

/** A 304: the stored content is the present one, and leads where it led. */
export async function unchanged(
  context: FetchContext,
  of: ClaimedUrl,
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
