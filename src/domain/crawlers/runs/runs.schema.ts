import { z } from 'zod';
import { timestamp } from '../../../kernel/shapes.ts';
import { urlErrors, urlKinds, urlStates } from '../frontier/crawl-url.entity.ts';
import { finishReasons, runModes, runStatuses, runTriggers, stopRequests } from './crawler-run.entity.ts';
import { logLevels } from './run-feed.ts';

export const runStatus = z.enum(runStatuses).meta({ id: 'CrawlerRunStatus' });
export const pageState = z.enum(urlStates).meta({ id: 'CrawlerPageState' });
export const pageError = z.enum(urlErrors).meta({ id: 'CrawlerPageError' });
/** What a URL holds, in a run as in a snapshot. */
export const pageKind = z.enum(urlKinds).meta({ id: 'CrawlerPageKind' });
export const logLevel = z.enum(logLevels).meta({ id: 'CrawlerLogLevel' });

const count = z.int32().min(0);
const bytes = z.int().min(0);
const tally = z.object({ count, bytes }).meta({ id: 'CrawlerRunTally' });

/** What a run has done so far; equal to its rows at all times. */
export const runCounts = z
  .object({
    requests: count.describe('Requests on the wire, redirects and retries included; robots.txt is none'),
    html: count.describe('Captured HTML pages'),
    assets: count.describe('Captured responses that are neither HTML pages nor sitemaps'),
    captured: count,
    unchanged_304: count.describe('Captured without a body, because the server said that nothing has changed'),
    unchanged_hash: count.describe('Captured with the same content as in the snapshot before'),
    new: count,
    changed: count,
    removed: count.describe('Captured in the snapshot before and not now; known at the end'),
    redirects: count,
    broken: count.describe('404 and 410'),
    errors: count,
    retries: count,
    skipped_robots: count,
    skipped_filter: count,
    skipped_scope: count,
    skipped_trap: count,
    skipped_limit: count,
    pending: count,
    leased: count,
    bytes_wire: bytes,
    bytes_stored: bytes,
    by_status: z.record(z.string(), tally),
    by_type: z.record(z.string(), tally),
  })
  .meta({ id: 'CrawlerRunCounts' });

const unixSeconds = z.int().meta({ format: 'unix-time' });

/** A run as callers see it. */
export const crawlerRun = z
  .object({
    id: z.int32(),
    crawler_config_id: z.int32().describe('Crawler ID'),
    project_id: z.int32(),
    last_status: runStatus,
    task_id: z.string().describe('Names the chain of jobs that works on it'),
    started_at: unixSeconds.nullable().describe('Unix seconds'),
    completed_at: unixSeconds.nullable().describe('Unix seconds'),
    created_at: timestamp,
    updated_at: timestamp,
    trigger: z.enum(runTriggers),
    schedule_id: z.int32().nullable(),
    fire_at: timestamp.nullable(),
    finish_reason: z.enum(finishReasons).nullable(),
    finish_message: z.string().nullable(),
    stop_requested: z.enum(stopRequests).nullable(),
    mode: z.enum(runModes),
    origin: z.string().nullable().describe('Scheme and host; null until the run has determined them'),
    counts: runCounts,
    rate: z.number().describe('Requests a second over the last 30 s'),
    eta_seconds: z.int32().nullable().describe('Until what waits now is done, at the present rate'),
    snapshot_id: z.int32().nullable().describe('What it captures; null where there is nothing, or it was deleted'),
  })
  .meta({ id: 'CrawlerRun' });

/** One URL of a run. */
export const crawlerPage = z
  .object({
    id: z.int(),
    url: z.string(),
    kind: pageKind,
    state: pageState,
    depth: z.int32(),
    http_status: z.int32().nullable(),
    content_type: z.string().nullable(),
    bytes: z.int().nullable().describe('Decoded'),
    sha256: z.string().nullable(),
    attempts: z.int32(),
    error: pageError.nullable(),
    error_message: z.string().nullable(),
    rule: z.string().nullable().describe('Why it was left out'),
    redirect_to: z.string().nullable(),
    canonical: z.string().nullable(),
    parent_url: z.string().nullable().describe('Where it was first found'),
    from_cache: z.boolean().describe('The server said that it has not changed'),
    fetched_at: timestamp.nullable(),
    duration_ms: z.int32().nullable(),
  })
  .meta({ id: 'CrawlerPage' });

/** One line of a run's log. */
export const crawlerLogLine = z
  .object({
    seq: z.int(),
    at: timestamp,
    level: logLevel,
    event: z.string(),
    message: z.string(),
    data: z.record(z.string(), z.unknown()).nullable(),
  })
  .meta({ id: 'CrawlerLogLine' });

/** Addresses a run of a crawler. */
export const runNumber = { run_id: z.int32().min(1, 'must be at least 1') };
