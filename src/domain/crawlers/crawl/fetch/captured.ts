import type { FetchedAnswer } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { UrlChange } from '../../frontier/crawl-url.entity.ts';
import { type Outcome, outcomeOf } from '../../frontier/outcome.ts';
import { discover, ledNowhere } from '../discover/discover.ts';
import type { BaseEntry } from './base-entries.ts';
import { entryOf } from './entry-of.ts';
import type { FetchContext } from './fetch-context.ts';
import { isHtmlPage, readCaptured } from './read-captured.ts';
import { readSitemapOf } from './sitemap.ts';

/** An answer whose body is stored. */
export interface KeptAnswer extends FetchedAnswer {
  body: { sha256: string; size: number };
}

function changeOf(base: BaseEntry | undefined, sha256: string): UrlChange {
  if (!base?.sha256) return 'new';
  return base.sha256 === sha256 ? 'unchanged_hash' : 'changed';
}

/** An answer that is stored: an entry of the snapshot, with all it leads to. */
export async function captured(
  context: FetchContext,
  of: ClaimedUrl,
  base: BaseEntry | undefined,
  answer: KeptAnswer,
): Promise<Outcome> {
  const { traps } = context.discovery;
  const { status, headers, bytes: body, isCut } = answer;
  const found = body && (await readCaptured(context, of, answer.contentType, { status, headers, body, isCut }));
  const dom = found?.html != null && context.browser?.storesDom ? found.html : null;
  // The document as it stands is not what the validators are of.
  const { sha256, size } = dom === null ? answer.body : await context.services.blobs.put(Buffer.from(dom));
  const contentType = dom === null ? answer.contentType : 'text/html; charset=utf-8';
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
