import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { SettingsType } from '../config/crawler.entity.ts';
import type { CrawlerSettings } from '../config/crawler.schema.ts';
import type { RunCounts } from './run-counts.ts';

export const runStatuses = ['queued', 'provisioning', 'running', 'completed', 'stopped', 'canceled', 'failed'] as const;
export const activeStatuses = ['provisioning', 'running'] as const;
export const terminalStatuses = ['completed', 'stopped', 'canceled', 'failed'] as const;
export const runModes = ['full', 'list', 'partial'] as const;
export const runTriggers = ['manual', 'api', 'schedule', 'workflow'] as const;
export const stopRequests = ['stop', 'cancel'] as const;
export const finishReasons = [
  'done',
  'max_hits',
  'max_html',
  'user',
  'server_limit',
  'crawler_deleted',
  'max_errors',
  'start_failed',
  'robots_unreachable',
  'browser_unavailable',
  'stalled',
  'internal',
] as const;

export type RunStatus = (typeof runStatuses)[number];
export type TerminalStatus = (typeof terminalStatuses)[number];
export type RunMode = (typeof runModes)[number];
export type RunTrigger = (typeof runTriggers)[number];
export type StopRequest = (typeof stopRequests)[number];
export type FinishReason = (typeof finishReasons)[number];

/** What a run has found out about a host, beside what all runs of the project share. */
export interface RunHost {
  /** Given up after five pauses: its URLs end in `host_down`. */
  is_down?: boolean;
  /** The start page led there: it is in scope like the primary host. */
  is_sibling?: boolean;
}

/** One execution of a crawler, with its configuration as it was when it was queued. */
export const CrawlerRun = defineEntity({
  name: 'CrawlerRun',
  tableName: 'crawler_run',
  properties: {
    id: p.integer().primary().autoincrement(),
    crawler_id: p.integer(),
    project_id: p.integer(),
    status: p.text().$type<RunStatus>(),
    /** Counts the run's workers: what an earlier one still writes changes nothing. */
    epoch: p.integer().default(0),
    /** Names the chain of jobs, from the start. */
    task_id: p.uuid(),
    settings: p.type(SettingsType).$type<CrawlerSettings>(),
    /** Sealed; of the crawler in version `secrets_version`. */
    secrets: p.text().nullable(),
    secrets_version: p.integer(),
    /** URLs of a partial run. */
    urls: p.json<string[]>().nullable(),
    mode: p.text().$type<RunMode>(),
    /** Scheme and host; null until the run has determined them. */
    origin: p.text().nullable(),
    hosts: p.json<Record<string, RunHost>>().nullable(),
    trigger: p.text().$type<RunTrigger>(),
    schedule_id: p.integer().nullable(),
    fire_at: p.datetime(3).nullable(),
    stop_requested: p.text().$type<StopRequest>().nullable(),
    finish_reason: p.text().$type<FinishReason>().nullable(),
    finish_message: p.text().nullable(),
    snapshot_id: p.integer().nullable(),
    counts: p.json<RunCounts>(),
    /** Requests that may have been on the wire: those done, and those leased when a process died. */
    hits_reserved: p.integer().default(0),
    /** Requests a second over the last half minute. */
    rate: p.float().default(0),
    /** URLs answered last, the newest at the end. */
    recent: p.json<number[]>().nullable(),
    takeovers: p.integer().default(0),
    /** Last sign of its worker; null: it has no worker. */
    heartbeat_at: p.datetime(3).nullable(),
    progress_at: p.datetime(3).nullable(),
    started_at: p.datetime(3).nullable(),
    completed_at: p.datetime(3).nullable(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
    /** Sealed; what the site has set so far, while the run is under way. */
    cookies: p.text().nullable().lazy(),
  },
});
export type CrawlerRun = InferEntity<typeof CrawlerRun>;
