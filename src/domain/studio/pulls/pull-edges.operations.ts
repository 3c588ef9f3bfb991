import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { maxPerPage, pageFrom, pageInput, pageOf, windowOf } from '../../paging.ts';
import { commit } from '../repository/repository.schema.ts';
import { Pull } from './pull.entity.ts';
import { findPull, headsOf, summariesOf } from './pull-record.ts';
import { pullNumber, pullSummary } from './pulls.schema.ts';

export const listPullCommits = projectOperation({
  name: 'studio.listPullCommits',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Commits a pull request proposes, newest first',
  input: z.object({ ...pullNumber, ...pageInput }),
  output: pageOf(commit),
  async execute(context, { number, ...paging }) {
    const { git } = context;
    const window = windowOf(paging);
    const { head, base } = await headsOf(context, await findPull(context, number));
    const { ahead_by } = await git.aheadBehind(head, base);
    const commits = await git.commitsBetween(base, head, { skip: window.offset, limit: window.limit });
    return pageFrom(commits, ahead_by, window);
  },
});

/** Pull requests of one branch that are given at most. */
const maxOpen = 20;

export const listPullsOfBranches = projectOperation({
  name: 'studio.listPullsOfBranches',
  kind: 'query',
  permission: 'browse_studio',
  summary: `Open pull requests whose head each of some branches is, at most ${maxOpen} of a branch, newest first`,
  input: z.object({ branches: z.array(z.string()).max(maxPerPage, `must be at most ${maxPerPage}`) }),
  output: z.array(z.array(pullSummary)),
  async execute(context, { branches }) {
    const { em, project } = context;
    const where = { project_id: project.id, state: 'open' as const, head_branch: { $in: branches } };
    const rows = await em.find(Pull, where, { orderBy: { number: 'desc' } });
    const byBranch = Map.groupBy(rows, (row) => row.head_branch);
    const shown = branches.map((branch) => (byBranch.get(branch) ?? []).slice(0, maxOpen));
    const summaries = await summariesOf(context, shown.flat());
    const byNumber = new Map(summaries.map((summary) => [summary.number, summary]));
    return shown.map((pulls) => pulls.flatMap(({ number }) => byNumber.get(number) ?? []));
  },
});
