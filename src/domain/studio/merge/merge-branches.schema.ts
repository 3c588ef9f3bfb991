import { z } from 'zod';
import { commitAuthor, commitMessage } from '../entries/entries.schema.ts';
import { commit } from '../repository/repository.schema.ts';
import { sync } from '../upstream/upstream.schema.ts';
import { foundConflicts, resolution, resolvedFile } from './merge.schema.ts';

export const mergeStrategy = z
  .enum(['merge', 'squash', 'ff'])
  .describe('merge: a commit with two parents; squash: one commit with one; ff: the branch only moves')
  .meta({ id: 'MergeStrategy' });

/** What every merge takes beside what it merges. */
export const mergeInput = {
  strategy: mergeStrategy.default('merge'),
  message: commitMessage,
  author: commitAuthor.optional().describe('Needs manage_studio'),
  resolutions: z.array(resolution).max(1000, 'must be at most 1000').optional().describe('How to resolve conflicts'),
};

export const mergeRequest = z.object({
  head: z.string().describe('Branch to merge'),
  base: z.string().optional().describe('Branch to merge into; default: the default branch'),
  ...mergeInput,
  head_sha: z.string().optional().describe('Commit the head must be at'),
  base_sha: z.string().optional().describe('Commit the base must be at'),
  dry_run: z.boolean().optional().describe('Report what would happen and change nothing'),
});

export const mergeResult = z
  .object({
    merged: z.boolean(),
    up_to_date: z.boolean().describe('There was nothing to merge'),
    dry_run: z.boolean(),
    reason: z.enum(['up_to_date']).optional(),
    strategy: mergeStrategy,
    sha: z.string().optional().describe('The commit the base is at now'),
    commit: commit.nullable(),
    mergeable: z.boolean().describe('Nothing is left in conflict'),
    ...foundConflicts,
    conflicts: foundConflicts.conflicts.describe('What is left in conflict, at most 1000; not empty in a dry run only'),
    resolved: z.array(resolvedFile).describe("Files that took more than git's merge of lines, the first 1000"),
    sync: sync.optional().describe('Of a mirror: state of the branch compared with the upstream'),
  })
  .meta({ id: 'MergeResult' });
