import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { IsolationLevel, ProcessName } from '../../../ports/deployer.ts';
import type { Network, Provider, StoredVariable } from '../environments/environment.entity.ts';
import type { Warning } from '../schema/schema.schema.ts';

export const statuses = ['queued', 'in_progress', 'completed'] as const;
export const conclusions = ['success', 'failure', 'cancelled', 'skipped'] as const;
export const triggers = ['commit', 'merge', 'manual', 'rerun', 'push', 'provider'] as const;
export const failureReasons = [
  'exit_code',
  'timeout',
  'out_of_memory',
  'output_missing',
  'output_too_large',
  'isolation_unavailable',
  'worker_lost',
  'provider_error',
  'provider_timeout',
] as const;

export type Status = (typeof statuses)[number];
export type Conclusion = (typeof conclusions)[number];
export type Trigger = (typeof triggers)[number];
export type FailureReason = (typeof failureReasons)[number];

/** What an environment was set to when the deployment was queued. */
export interface DeploymentSettings {
  provider: Provider;
  root_directory: string;
  install_command: string | null;
  build_command: string | null;
  output_directory: string;
  variables: StoredVariable[];
  network: Network;
  timeout_seconds: number;
  deploy_webhook_url: string | null;
}

/** Who works on a deployment, and the leader of the process group of the command that runs, when one does. */
export interface Worker {
  process: ProcessName;
  command: ProcessName | null;
}

/** One attempt to publish one commit to one environment. `status` moves only by conditional updates. */
export const Deployment = defineEntity({
  name: 'Deployment',
  tableName: 'deployment',
  properties: {
    id: p.integer().primary().autoincrement(),
    project_id: p.integer(),
    environment_id: p.integer(),
    /** Counts per project. */
    run_number: p.integer(),
    branch: p.text(),
    commit_sha: p.text(),
    /** First line of the commit's message. */
    title: p.text(),
    status: p.text().$type<Status>(),
    conclusion: p.text().$type<Conclusion>().nullable(),
    failure_reason: p.text().$type<FailureReason>().nullable(),
    trigger: p.text().$type<Trigger>(),
    /** Fences off a worker that was given up: what it writes names an older attempt. */
    attempt: p.integer(),
    settings: p.json<DeploymentSettings>(),
    isolation: p.text().$type<IsolationLevel>().nullable(),
    /** Why it was that level, or why nothing was built. */
    isolation_reason: p.text().nullable(),
    /** The blob that holds the manifest; null until it is stored, and once it has been collected. */
    manifest_sha256: p.text().nullable(),
    /** SHA-256 of the manifest, hex. */
    output_digest: p.text().nullable(),
    /** The path its links take the site to lie below, such as `/docs`; its files are named without it. */
    base_path: p.text().default(''),
    /** Where an external provider says it is. */
    url: p.text().nullable(),
    log_url: p.text().nullable(),
    /** What did not become part of it, or is not used, though nothing failed. */
    warnings: p.json<Warning[]>().nullable(),
    cancel_requested: p.boolean().default(false),
    worker: p.json<Worker>().nullable(),
    heartbeat_at: p.datetime(3).nullable(),
    report_token_hash: p.text().unique().nullable(),
    created_at: p.datetime(3),
    started_at: p.datetime(3).nullable(),
    completed_at: p.datetime(3).nullable(),
  },
  uniques: [{ properties: ['project_id', 'run_number'] }],
});
export type Deployment = InferEntity<typeof Deployment>;

/** One command of a job. */
export interface DeploymentStep {
  number: number;
  name: string;
  status: Status;
  conclusion: Conclusion | null;
  /** RFC 3339 UTC. */
  started_at: string | null;
  completed_at: string | null;
  exit_code: number | null;
}

/** One stage of a deployment. */
export const DeploymentJob = defineEntity({
  name: 'DeploymentJob',
  tableName: 'deployment_job',
  properties: {
    id: p.integer().primary().autoincrement(),
    deployment_id: p.integer(),
    name: p.text(),
    /** Counts per deployment, from 1. */
    position: p.integer(),
    status: p.text().$type<Status>(),
    conclusion: p.text().$type<Conclusion>().nullable(),
    steps: p.json<DeploymentStep[]>(),
    /** Where an external provider keeps its log. */
    log_url: p.text().nullable(),
    /** Bytes the log has had in all; of long ones the middle is not kept. */
    log_size: p.bigint('number').defaultRaw('0'),
    started_at: p.datetime(3).nullable(),
    completed_at: p.datetime(3).nullable(),
  },
  uniques: [{ properties: ['deployment_id', 'position'] }],
});
export type DeploymentJob = InferEntity<typeof DeploymentJob>;

/** A piece of a job's log, at most 64 KiB; `start` is its offset in bytes. */
export const DeploymentLog = defineEntity({
  name: 'DeploymentLog',
  tableName: 'deployment_log',
  properties: {
    job_id: p.integer().primary(),
    start: p.bigint('number').primary(),
    size: p.integer(),
    content: p.blob(),
  },
});
