import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { maxPerPage, windowOf } from '../../paging.ts';
import { isMergeable } from '../merge/mergeability.ts';
import { commitNamed } from '../repository/refs.ts';
import { viewOf } from '../view.ts';
import { comparison } from './compare.schema.ts';
import { fileDiffs } from './file-diffs.ts';

export const compareBranches = projectOperation({
  name: 'studio.compareBranches',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Compare branches or commits',
  input: z.object({
    base: z.string().describe('Branch or full commit id'),
    head: z.string().describe('Branch or full commit id'),
    page: z.int().min(1, 'must be at least 1').optional().describe('Page of files, from 1'),
    per_page: z.int().min(1, 'must be at least 1').optional().describe('Files a page; default 30, above 100 means 100'),
    patch: z.boolean().optional().describe('Adds the unified diff of each file'),
  }),
  output: comparison,
  async execute(context, { base: from, head: to, patch, ...paging }) {
    const { git, tag } = context;
    const window = windowOf(paging);
    const [base, head] = [await commitNamed(git, 'base', from), await commitNamed(git, 'head', to)];
    tag(`"${head}.${viewOf([base, patch, window])}"`);
    const ancestor = await git.mergeBase(base, head);
    if (!ancestor) throw new DomainError('no_common_ancestor', `${from} and ${to} have no commit in common`);
    const { ahead_by, behind_by } = await git.aheadBehind(head, base);
    const commits = await git.commitsBetween(base, head, { skip: 0, limit: maxPerPage });
    const { files, total } = await fileDiffs(context, ancestor, head, {
      skip: window.offset,
      limit: window.limit,
      patch,
    });
    return {
      base_commit: base,
      head_commit: head,
      merge_base_commit: ancestor,
      status: statusOf(ahead_by, behind_by),
      ahead_by,
      behind_by,
      total_commits: ahead_by,
      commits,
      total_files: total,
      files,
      mergeable: ahead_by === 0 || behind_by === 0 || (await isMergeable(context, { current: base, incoming: head })),
      truncated: commits.length < ahead_by || files.length < total,
    };
  },
});

function statusOf(ahead: number, behind: number) {
  if (ahead === 0) return behind === 0 ? ('identical' as const) : ('behind' as const);
  return behind === 0 ? ('ahead' as const) : ('diverged' as const);
}
