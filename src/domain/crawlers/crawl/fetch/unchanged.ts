import type { FetchedAnswer } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { type Outcome, outcomeOf } from '../../frontier/outcome.ts';
import { discover } from '../discover/discover.ts';
import type { BaseEntry } from './base-entries.ts';
import type { FetchContext } from './fetch-context.ts';
import { isHtmlPage, readCaptured } from './read-captured.ts';
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
  return earlier && readCaptured(context, of, base.content_type, earlier);
}

/** A 304: the stored content is the present one, and leads where it led. */
export async function unchanged(
  context: FetchContext,
  of: ClaimedUrl,
  base: BaseEntry,
  answer: FetchedAnswer,
): Promise<Outcome> {
  const { outlinks_sha256, sha256, bytes, content_type } = base;
  const shown = await showAgain(context, of, base);
  const kept = async () => (outlinks_sha256 === null ? null : context.outlinks.get(outlinks_sha256, of.url));
  const outlinks = shown?.outlinks ?? (await kept());
  const led =
    of.kind === 'sitemap' && sha256 !== null
      ? await readSitemapOf(context, of, sha256)
      : { ...(outlinks ? await discover(context.discovery, of, outlinks) : { drafts: [], link_keys: [] }), log: [] };
  return outcomeOf(of, {
    state: 'done',
    http_status: base.http_status,
    content_type,
    bytes,
    sha256,
    canonical: outlinks?.canonical ?? null,
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
    drafts: led.drafts,
    link_keys: led.link_keys,
    log: [...led.log, ...(shown?.log ?? [])],
  });
}
