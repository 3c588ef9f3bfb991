import type { Sha256 } from '../../../ports/blobs.ts';
import type { HostSignal } from '../hosts/host-pace.ts';
import type { LogLine } from '../runs/run-feed.ts';
import type { EntryDraft } from '../snapshots/snapshot-entries.ts';
import type { UrlChange, UrlError, UrlState } from './crawl-url.entity.ts';
import type { LeasedUrl } from './lease.ts';
import { type LinkKeys, noKeys, type UrlDraft } from './url-draft.ts';

/** What a URL links to, as it is kept with the snapshot: a later 304 brings no body to read it from. */
export interface Outlinks {
  /** Each an address and how it is linked. */
  links: [string, string][];
  assets: [string, string][];
  canonical: string | null;
}

/** What the browser of a page has requested beside the page itself. */
export interface Beside {
  /** Of URLs that were not leased; found again by their address. */
  outcomes: Outcome[];
  /** Requests that leave nothing else. */
  requests: number;
  bytes_wire: number;
}

/** What an answer that left an earlier snapshot's entry as it was says anew; absent: that is as before. */
export interface EntryAgain {
  etag?: string;
  last_modified?: string;
  outlinks_sha256?: Sha256;
}

/** The outcome of a leased URL. */
export interface Outcome {
  of: LeasedUrl;
  /** `pending`: it is put back, for a later attempt or because no request could be sent. */
  state: Exclude<UrlState, 'leased'>;
  /** A request has been answered, or has failed. */
  sent: boolean;
  /** It surely was not on the wire: the budget gets it back. */
  refund: boolean;
  /** Milliseconds from now before which it is not tried again. */
  delay: number | null;
  rule: string | null;
  http_status: number | null;
  content_type: string | null;
  bytes: number | null;
  sha256: string | null;
  redirect_to: string | null;
  canonical: string | null;
  error: UrlError | null;
  error_message: string | null;
  change: UrlChange | null;
  from_cache: boolean;
  duration_ms: number | null;
  bytes_wire: number;
  /** It is a captured HTML page. */
  is_html: boolean;
  entry: EntryDraft | null;
  /** The entry is the earlier snapshot's, but for this; null: it is not. */
  again: EntryAgain | null;
  outlinks: Outlinks | null;
  /** What it leads to. */
  drafts: UrlDraft[];
  /** Of every URL it links to: those of `outlinks` in their order, links before assets, each once. */
  link_keys: LinkKeys;
  signal: HostSignal | null;
  beside: Beside | null;
  log: LogLine[];
}

/** An outcome in which nothing has happened yet. */
export const outcomeOf = (of: LeasedUrl, given: Partial<Outcome> & Pick<Outcome, 'state'>): Outcome => ({
  of,
  sent: true,
  refund: false,
  delay: null,
  rule: null,
  http_status: null,
  content_type: null,
  bytes: null,
  sha256: null,
  redirect_to: null,
  canonical: null,
  error: null,
  error_message: null,
  change: null,
  from_cache: false,
  duration_ms: null,
  bytes_wire: 0,
  is_html: false,
  entry: null,
  again: null,
  outlinks: null,
  drafts: [],
  link_keys: noKeys,
  signal: null,
  beside: null,
  log: [],
  ...given,
});

/** Puts a URL back that was claimed and not requested. */
export const putBack = (of: LeasedUrl): Outcome => outcomeOf(of, { state: 'pending', sent: false, refund: true });

/** Puts a URL back whose request was broken off: it may have been on the wire. */
export const breakOff = (of: LeasedUrl): Outcome => outcomeOf(of, { state: 'pending', sent: false });

/** Skips a claimed URL without a request. */
export const leaveOut = (of: LeasedUrl, rule: string): Outcome =>
  outcomeOf(of, { state: 'skipped', sent: false, refund: true, rule });
