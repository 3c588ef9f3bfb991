import { z } from 'zod';
import { timestamp } from '../../shapes.ts';
import { crawlerRun } from '../runs/runs.schema.ts';
import { verificationMethod, verificationState } from '../verification/verification.schema.ts';
import { crawlerFields } from './crawler-fields.ts';

const { webhook_url, webhook_auth_header, webhook_extra_vars, headers, ...plain } = crawlerFields;

const standing = z
  .object({
    state: verificationState,
    method: verificationMethod.nullable(),
    checked_at: timestamp.nullable(),
  })
  .meta({ id: 'CrawlerVerificationSummary' });

/** A crawler as callers see it. */
export const crawler = z
  .object({
    id: z.int32().describe('Crawler ID'),
    uuid: z.string().describe('Crawler UUID'),
    project_id: z.int32().describe('Project ID'),
    config: z.string().describe('Crawler configuration as YAML text'),
    urls_list: z.string().describe('URL list as YAML text'),
    domain_verified: z.int32().min(0).max(1).describe('Domain verification status: 0 or 1'),
    ...plain,
    headers: headers.optional().describe('Custom headers; only for callers with edit_crawlers'),
    webhook_url: webhook_url.optional(),
    webhook_auth_header: webhook_auth_header
      .optional()
      .describe('Authorization header value sent to the webhook; only for callers with edit_crawlers'),
    webhook_extra_vars: webhook_extra_vars.optional(),
    merge_domains: z.boolean().describe('True exactly when allowed_domains is not empty'),
    verification: standing,
    published_snapshot_id: z.int32().nullable(),
    last_run: crawlerRun.nullable().describe('The newest run, whatever has become of it'),
    created_at: timestamp,
    updated_at: timestamp,
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'Crawler' });
