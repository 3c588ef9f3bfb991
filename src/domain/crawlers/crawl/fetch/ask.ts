import type { FetchedHeaders, FetchResult } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { BaseEntry } from './base-entries.ts';
import type { FetchContext } from './fetch-context.ts';
import { mergedCookies } from './merged-cookies.ts';
import { isRedirect } from './redirected.ts';

const joined = (own: string | undefined, stored: string) => (own ? `${own}; ${stored}` : stored);

/** How a browser's request differs from one of the run's own. */
export interface Asking {
  headers: Record<string, string>;
  /** Of the page; it wins over what the run has kept. */
  cookie?: string;
  read: 'all';
  /** Bytes of body that come back. */
  most: number;
  /** Whether its answer is to be stored. */
  keeps(headers: FetchedHeaders): boolean;
}

/** What is told and asked while a request is under way, as in `FetchRequest`. */
export interface Progress {
  received(): void;
  mayStart?: (() => boolean) | undefined;
}

/**
 * Sends the request for a URL.
 * @param base what the newest sealed snapshot holds of it: the host is asked whether that has changed
 */
export async function ask(
  context: FetchContext,
  of: ClaimedUrl,
  base: BaseEntry | undefined,
  { received, mayStart }: Partial<Progress>,
  asking?: Asking,
): Promise<FetchResult> {
  const { headers, hash } = context.headersFor(of.host);
  const isStored = !(context.browser?.storesDom && of.kind === 'page');
  const asksAgain =
    isStored && base?.isFresh && base.request_hash === hash && (base.etag !== null || base.last_modified !== null);
  const sent = asking?.headers ?? headers;
  const { cookies, services } = context;
  const kept = cookies.isEmpty ? null : cookies.header(new URL(of.url), services.clock.now());
  const cookie = asking ? mergedCookies(kept, asking.cookie) : kept;
  return context.fetcher.fetch({
    url: of.url,
    headers: cookie === null ? sent : { ...sent, cookie: joined(sent.cookie, cookie) },
    policy: context.policy,
    signal: context.signal,
    limits: { body: context.maxBody, ...(asking && { read: asking.most }) },
    keep: (status, got) =>
      !isRedirect(status) && context.settings.status_ok.includes(status) && asking?.keeps(got) !== false,
    ...(received && { received }),
    ...(mayStart && { mayStart }),
    read: asking?.read ?? (of.kind === 'sitemap' ? 'none' : of.kind),
    ...(asksAgain && {
      validators: { etag: base.etag ?? undefined, last_modified: base.last_modified ?? undefined },
    }),
  });
}
