import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { fetchErrors } from '../../../ports/fetcher.ts';

export const urlKinds = ['page', 'asset', 'sitemap'] as const;
export const urlStates = ['pending', 'leased', 'done', 'error', 'skipped'] as const;
/** What one request can fail of, and what a run finds out about several or without any. */
export const urlErrors = [
  ...fetchErrors,
  'http_4xx',
  'http_5xx',
  'redirect_loop',
  'redirect_invalid',
  'redirect_too_many',
  'retry_after_too_long',
  'host_down',
  'browser',
] as const;
/** How what was captured stands to the entry of the same URL in the newest sealed snapshot. */
export const urlChanges = ['new', 'changed', 'unchanged_304', 'unchanged_hash'] as const;

export type UrlKind = (typeof urlKinds)[number];
export type UrlState = (typeof urlStates)[number];
export type UrlError = (typeof urlErrors)[number];
export type UrlChange = (typeof urlChanges)[number];

/** One URL of a run: `pending`, `leased` while somebody fetches it, then `done`, `error` or `skipped`. */
export const CrawlUrl = defineEntity({
  name: 'CrawlUrl',
  tableName: 'crawl_url',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    run_id: p.integer(),
    /** SHA-256 of the normalised URL. */
    url_hash: p.blob(),
    url: p.text(),
    /** With its port when that is not the scheme's own. */
    host: p.text(),
    kind: p.text().$type<UrlKind>(),
    is_entry: p.boolean().default(false),
    /** Whether links of the page, or sitemaps of an index, are followed. */
    follows: p.boolean().default(true),
    /** Links from an entry URL. */
    depth: p.integer(),
    /** Lower ones first, within a depth. */
    priority: p.integer(),
    /** Redirects that led here. */
    hop: p.integer().default(0),
    /** How deep it is imported: sheets by sheets, sitemaps by indexes. */
    level: p.integer().default(0),
    state: p.text().$type<UrlState>(),
    /** Requests so far. */
    attempts: p.integer().default(0),
    not_before: p.datetime(3).nullable(),
    /** The URL it was first found on. */
    parent_id: p.bigint('number').nullable(),
    /** Why it is skipped. */
    rule: p.text().nullable(),
    http_status: p.integer().nullable(),
    content_type: p.text().nullable(),
    /** Decoded. */
    bytes: p.bigint('number').nullable(),
    sha256: p.text().nullable(),
    redirect_to: p.text().nullable(),
    canonical: p.text().nullable(),
    error: p.text().$type<UrlError>().nullable(),
    error_message: p.text().nullable(),
    change: p.text().$type<UrlChange>().nullable(),
    /** Answered with 304. */
    from_cache: p.boolean().default(false),
    fetched_at: p.datetime(3).nullable(),
    duration_ms: p.integer().nullable(),
  },
  uniques: [{ properties: ['run_id', 'url_hash'] }],
});
export type CrawlUrl = InferEntity<typeof CrawlUrl>;
