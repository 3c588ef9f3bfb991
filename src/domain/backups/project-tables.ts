import { z } from 'zod';
import { displayName, machineName, timestamp } from '../../kernel/shapes.ts';
import { importState, repositoryChange } from '../studio/repository/repository.schema.ts';
import type { BackedUpTable } from './backed-up-table.ts';
import { crawlerScheduleTable, crawlerTable } from './crawler-tables.ts';
import { environmentTable, pullTable, upstreamBranchTable, upstreamTable } from './studio-tables.ts';
import { workflowTable, workflowTriggerTable, workflowVersionTable } from './workflow-tables.ts';

/** The project's own row. */
export const projectRow = {
  name: 'project',
  row: z.object({
    name: displayName,
    machine_name: machineName,
    region: z.string().nullable(),
    import: importState.nullable(),
    // Loose: a setting that came later is kept as it is.
    settings: repositoryChange.omit({ default_branch: true }).loose().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  }),
  left: {
    id: 'given anew',
    uuid: 'names the repository, which is another one',
    organization_id: 'where it is restored decides',
    deleted_at: 'only a project that is there is backed up',
  },
} satisfies Omit<BackedUpTable, 'entity'>;

/**
 * THE list of what a project is, beside its own row and its repository: each table whose rows a backup holds, in the order they can be
 * written. A table that belongs to projects and stands neither here nor in `notBackedUp` fails a test.
 */
export const projectTables: readonly BackedUpTable[] = [
  pullTable,
  upstreamTable,
  upstreamBranchTable,
  environmentTable,
  crawlerTable,
  crawlerScheduleTable,
  workflowTable,
  workflowVersionTable,
  workflowTriggerTable,
];

/** Tables that belong to projects and are no part of a backup, each with why. */
export const notBackedUp: Record<string, string> = {
  audit: 'says what happened on this server, and stays there',
  crawl_host: 'is found out by the next crawl',
  crawl_link: 'is made again by crawling',
  crawl_url: 'is made again by crawling',
  crawler_run: 'is made again by crawling',
  delivery: 'says what happened on this server, and stays there',
  delivery_key: 'says what happened on this server, and stays there',
  deployment: 'is made again from its commit',
  deployment_job: 'is made again with its deployment',
  deployment_log: 'is made again with its deployment',
  effect: 'goes with its execution',
  event: 'belongs to subscribers of this server',
  event_subject: 'belongs to subscribers of this server',
  execution: 'says what happened on this server, and stays there',
  mergeability: 'is found out again',
  notification: 'goes with its crawler',
  notification_attempt: 'goes with its crawler',
  replaced_output: 'matters for ten minutes after a publish',
  slot: 'says what happened on this server, and stays there',
  snapshot: 'is made again by crawling',
  snapshot_entry: 'is made again by crawling',
  snapshot_import: 'goes with its snapshot',
  step_run: 'goes with its execution',
  studio_blob: 'is read from the repository again',
  studio_last_commit: 'is read from the repository again',
  studio_marker: 'is read from the repository again',
  studio_schema: 'is read from the repository again',
  workflow_refusal: 'says what happened on this server, and stays there',
  workflow_secret: 'a secret',
};
