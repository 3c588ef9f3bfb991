import { z } from 'zod';
import { oneLine, storedText, timestamp } from '../../../kernel/shapes.ts';
import { deploymentSummary } from '../deployments/deployments.schema.ts';
import { foundConflicts, resolvedFile } from '../merge/merge.schema.ts';
import { mergeInput } from '../merge/merge-branches.schema.ts';
import { commit } from '../repository/repository.schema.ts';
import { sync } from '../upstream/upstream.schema.ts';
import { pullStates } from './pull.entity.ts';

const end = z.object({ ref: z.string().describe('Branch'), sha: z.string() }).meta({ id: 'PullEnd' });

const summary = {
  number: z.int32(),
  title: z.string(),
  body: z.string(),
  state: z.enum(pullStates).meta({ id: 'PullState' }),
  draft: z.boolean(),
  head: end,
  base: end,
  author: z.object({ id: z.string(), name: z.string() }).meta({ id: 'PullAuthor' }),
  merged: z.boolean(),
  mergeable: z
    .boolean()
    .nullable()
    .describe(
      'Whether it merges without conflict; null: it is not open, has not been tested yet, or is too large to be tested',
    ),
  created_at: timestamp,
  updated_at: timestamp,
  merged_at: timestamp.nullable(),
  closed_at: timestamp.nullable(),
  merge_commit_sha: z.string().nullable(),
};

export const pullSummary = z.object(summary).meta({ id: 'PullSummary' });

const total = z.int32().nullable().describe('null: there is too much to count');

export const pull = z
  .object({
    ...summary,
    mergeable_state: z
      .enum(['clean', 'dirty', 'behind', 'unknown'])
      .describe(
        'behind: it merges, but the base has commits the head lacks; dirty: it conflicts; unknown: not open, or not tested',
      ),
    ...foundConflicts,
    commits_count: total,
    changed_files: total,
    additions: total,
    deletions: total,
    deployments: z.array(deploymentSummary).describe('Of the branch to be merged, the newest 20'),
  })
  .meta({ id: 'Pull' });

const title = oneLine(300);
const body = storedText(65_536);

export const pullDraft = z.object({
  title,
  head: z.string().describe('Branch to be merged'),
  base: z.string().optional().describe('Branch to merge into; default: the default branch'),
  body: body.default(''),
  draft: z.boolean().default(false),
});

export const pullNumber = { number: z.int32().min(1, 'must be at least 1') };

export const pullChange = z.object({
  ...pullNumber,
  title: title.optional(),
  body: body.optional(),
  draft: z.boolean().optional(),
  state: z.enum(['open', 'closed']).meta({ id: 'PullStateChange' }).optional(),
});

export const pullMerge = z.object({
  ...pullNumber,
  ...mergeInput,
  sha: z.string().optional().describe('Commit the head must be at'),
  delete_branch: z.boolean().optional().describe('Delete the head branch after the merge; needs delete_studio'),
});

export const pullMerged = z
  .object({
    merged: z.boolean(),
    sha: z.string().optional().describe('The commit the base is at now'),
    message: z.string().optional(),
    commit: commit.nullable(),
    branch_deleted: z.boolean(),
    ...foundConflicts,
    conflicts: foundConflicts.conflicts.describe('GraphQL: why it was not merged; REST refuses instead'),
    resolved: z.array(resolvedFile),
    pull,
    sync: sync.optional().describe('Of a mirror: state of the branch compared with the upstream'),
  })
  .meta({ id: 'MergedPull' });
