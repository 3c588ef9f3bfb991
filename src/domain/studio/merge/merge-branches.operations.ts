import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { authorOf, messageOf } from '../changes/write-rules.ts';
import { checkCarried } from '../compare/carried-content.ts';
import { checkRefName } from '../ref-name.ts';
import { checkDirectWrite } from '../repository/branch-rules.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import type { ResolutionPermission } from './merge.schema.ts';
import { mergeRequest, mergeResult } from './merge-branches.schema.ts';
import { conflictsBetween, mergeCommits } from './merge-commits.ts';
import { conflictTime, timeLimit } from './mergeability.ts';
import { checkResult, headOf, writeMerge } from './write-merge.ts';

type MergeInput = z.output<typeof mergeRequest>;
type Heads = { current: Oid; incoming: Oid };

/**
 * Compares the heads the caller saw with the merged ones.
 * @throws DomainError `branch_moved` with the conflicts as they are now.
 */
async function checkHeads(
  context: Pick<StudioContext, 'git' | 'studio'>,
  heads: Heads,
  { head_sha, base_sha }: MergeInput,
  signal?: AbortSignal,
): Promise<{ pinned: boolean }> {
  const moved = [
    ...(head_sha !== undefined && head_sha !== heads.incoming ? ['head_sha'] : []),
    ...(base_sha !== undefined && base_sha !== heads.current ? ['base_sha'] : []),
  ];
  if (moved.length === 0) return { pinned: head_sha !== undefined && base_sha !== undefined };
  const found = await conflictsBetween(context, heads, { signal });
  throw new DomainError('branch_moved', `${moved[0]}: the branch has moved since it was read`, {
    details: { head_sha: heads.incoming, base_sha: heads.current, ...found },
  });
}

export const mergeBranches = studioOperation({
  name: 'studio.mergeBranches',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    manage_studio:
      'when it names another author, resolutions write files outside collections and media, or it brings some that were content where they were changed',
    delete_studio: 'when resolutions delete what neither branch has deleted',
  },
  summary: 'Merge branches',
  input: mergeRequest,
  output: mergeResult,
  audit: ({ head, base }) => ({ type: 'branch', id: base ? `${head} → ${base}` : head }),
  async execute(context, input) {
    const { git, project } = context;
    const { strategy, resolutions = [], dry_run = false } = input;
    const author = authorOf(context, input.author);
    const head = checkRefName('head', input.head);
    const base = input.base === undefined ? await git.defaultBranch() : checkRefName('base', input.base);
    const heads = { current: await headOf(context, 'base', base), incoming: await headOf(context, 'head', head) };
    if (dry_run) return tryMerge(context, heads, input, AbortSignal.any([context.signal, timeLimit(conflictTime)]));
    checkDirectWrite(project, base);
    const verb = strategy === 'squash' ? 'Squash' : 'Merge';
    const { commit, resolved } = await writeMerge(context, {
      base,
      head,
      strategy,
      author,
      message: messageOf(input.message, `${verb} branch '${head}' into ${base}`),
      resolutions,
      require: context.require,
      admit: (found, result, signal) => checkResult(context, found, result, signal),
      publish: { context: () => context.renewed() },
      check: (found, signal) => checkHeads(context, found, input, signal),
    });
    const rest = { dry_run, strategy, mergeable: true, conflicts: [], resolved };
    return commit
      ? { merged: true, up_to_date: false, sha: commit.sha, commit, ...rest }
      : { merged: false, up_to_date: true, reason: 'up_to_date' as const, commit: null, ...rest };
  },
});

/** What a merge would do; nothing moves. @param signal ends it: its client has gone, or it takes git too long to wait for */
async function tryMerge(
  context: Pick<StudioContext<ResolutionPermission>, 'git' | 'studio' | 'grant' | 'require'>,
  heads: Heads,
  input: MergeInput,
  signal: AbortSignal,
): Promise<z.output<typeof mergeResult>> {
  const { git } = context;
  const { strategy, resolutions = [] } = input;
  const { pinned } = await checkHeads(context, heads, input, signal);
  const answer = { merged: false, dry_run: true, strategy, commit: null, conflicts: [], resolved: [] };
  if (await git.isAncestor(heads.incoming, heads.current))
    return { ...answer, up_to_date: true, reason: 'up_to_date', mergeable: true };
  if (strategy === 'ff') {
    await checkCarried(context, heads, () => git.snapshot(heads.incoming), signal);
    return { ...answer, up_to_date: false, mergeable: await git.isAncestor(heads.current, heads.incoming) };
  }
  const { tree, changes, resolved, ...found } = await mergeCommits(context, heads, resolutions, {
    pinned,
    require: context.require,
    namesOnly: true,
    signal,
  });
  // What settles the conflicts that are left may settle names, too.
  if (found.conflicts.length > 0) await checkCarried(context, heads, () => git.snapshotOfTree(tree), signal);
  else await checkResult(context, heads, async () => (await git.snapshotOfTree(tree)).with(changes), signal);
  return { ...answer, up_to_date: false, mergeable: found.conflicts.length === 0, ...found, resolved };
}
