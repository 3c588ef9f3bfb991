import { z } from 'zod';
import { commit } from '../repository/repository.schema.ts';

/** One changed file of a comparison. */
export const fileDiff = z
  .object({
    path: z.string(),
    previous_path: z.string().optional().describe('Where a renamed file was before'),
    status: z.enum(['added', 'modified', 'removed', 'renamed']),
    additions: z.int().describe('Lines; 0 for binary files'),
    deletions: z.int().describe('Lines; 0 for binary files'),
    changes: z.int().describe('Lines added and removed'),
    sha: z.string().describe('Object id of the file in the head; of a removed file, the one it had'),
    patch: z.string().optional().describe('Unified diff, with `patch=true`; not of binary files'),
    truncated: z.boolean().optional().describe('The patch is longer than shown'),
    collection: z.string().optional(),
    slug: z.string().optional(),
    fields: z.array(z.string()).optional().describe('JSON Pointers of the frontmatter keys of an entry that differ'),
  })
  .meta({ id: 'FileDiff' });

export const comparison = z
  .object({
    base_commit: z.string(),
    head_commit: z.string(),
    merge_base_commit: z.string(),
    status: z.enum(['identical', 'ahead', 'behind', 'diverged']),
    ahead_by: z.int().describe('Commits the head has and the base lacks'),
    behind_by: z.int().describe('Commits the base has and the head lacks'),
    total_commits: z.int(),
    commits: z.array(commit).describe('Commits the base lacks, newest first, at most 100'),
    total_files: z.int(),
    files: z.array(fileDiff).describe('A page of what differs from the merge base to the head'),
    mergeable: z.boolean().describe('Whether the head merges into the base without conflict'),
    truncated: z.boolean().describe('There are more commits or files than are shown'),
  })
  .meta({ id: 'Comparison' });
