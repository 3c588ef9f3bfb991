import { z } from 'zod';
import { findPage, maxPerPage, pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { lookedUp, storedText } from '../../../kernel/shapes.ts';
import { fileDiff, fileDiffs } from '../compare/compare.operations.ts';
import { commit } from '../repository/repository.schema.ts';
import { studioOperation } from '../studio-operation.ts';
import { viewOf } from '../view.ts';
import { Pull, pullStates } from './pull.entity.ts';
import { findPull, headsOf, showPull, summariesOf } from './pull-record.ts';
import { pull, pullNumber, pullSummary } from './pulls.schema.ts';

export const listPulls = studioOperation({
  name: 'studio.listPulls',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List pull requests, the newest first',
  input: z.object({
    ...pageInput,
    state: z
      .enum([...pullStates, 'all'])
      .meta({ id: 'PullStateFilter' })
      .default('open'),
    base: storedText(1000).optional().describe('Branch to merge into'),
    head: storedText(1000).optional().describe('Branch to be merged'),
    author: storedText(200).optional().describe('Id or name of who opened it'),
    sort: z.enum(['created', 'updated']).meta({ id: 'PullSort' }).default('created'),
    direction: z.enum(['asc', 'desc']).meta({ id: 'SortDirection' }).default('desc'),
  }),
  output: pageOf(pullSummary),
  async execute(context, { state, base, head, author, sort, direction, ...paging }) {
    const { em, project } = context;
    const { rows, asPage } = await findPage(
      em,
      paging,
      Pull,
      {
        project_id: project.id,
        ...(state !== 'all' && { state }),
        ...(base !== undefined && { base_branch: base }),
        ...(head !== undefined && { head_branch: head }),
        ...(author !== undefined && { $or: [{ author_id: author }, { author_name: author }] }),
      },
      {
        orderBy: { ...(sort === 'updated' && { updated_at: direction }), number: direction },
      },
    );
    return asPage(await summariesOf(context, rows));
  },
});

export const getPull = studioOperation({
  name: 'studio.getPull',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Pull request details',
  input: z.object(pullNumber),
  output: pull,
  async execute(context, { number }) {
    const row = await findPull(context, number);
    return showPull(context, row);
  },
});

export const listPullFiles = studioOperation({
  name: 'studio.listPullFiles',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Files a pull request changes, entries with their changed fields',
  input: z.object({
    ...pullNumber,
    ...pageInput,
    patch: z.boolean().optional().describe('Adds the unified diff of each file'),
    values: z.boolean().optional().describe('Adds what has changed in each entry, field by field'),
  }),
  output: pageOf(fileDiff),
  async execute(context, { number, patch, values, ...paging }) {
    const { git, tag } = context;
    const window = windowOf(paging);
    const { head, base } = await headsOf(context, await findPull(context, number));
    tag(`"${head}.${viewOf([base, patch, values, window])}"`);
    const ancestor = (await git.mergeBase(base, head)) ?? base;
    const page = { skip: window.offset, limit: window.limit, patch, values };
    const { files, total } = await fileDiffs(context, ancestor, head, page);
    return pageFrom(files, total, window);
  },
});

export const listPullCommits = studioOperation({
  name: 'studio.listPullCommits',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
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

export const listPullsOfBranches = studioOperation({
  name: 'studio.listPullsOfBranches',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: `Open pull requests whose head each of some branches is, at most ${maxOpen} of a branch, newest first`,
  input: z.object({ branches: z.array(lookedUp).max(maxPerPage, `must be at most ${maxPerPage}`) }),
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
