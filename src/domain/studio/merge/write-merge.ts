import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { counted } from '../../../lib/text.ts';
import type { Commit, Oid, Snapshot } from '../../../ports/git-records.ts';
import type { CommitPlan } from '../../../ports/git-writes.ts';
import { checkCarried } from '../compare/carried-content.ts';
import type { StudioContext } from '../studio.ts';
import type { FoundConflicts, Resolution, ResolvedFile } from './merge.schema.ts';
import type { mergeStrategy } from './merge-branches.schema.ts';
import { mergeCommits } from './merge-commits.ts';
import type { ResolutionOptions } from './resolutions.ts';

export interface MergeRequest {
  /** Short branch name. */
  base: string;
  /** Short branch name, or a stored commit that no branch of ours has. */
  head: string | { oid: Oid };
  strategy: z.output<typeof mergeStrategy>;
  /** Moves the base to the head where that is possible, whatever the strategy. */
  fast_forward?: boolean;
  author: { name: string; email: string };
  message: string;
  resolutions: readonly Resolution[];
  /** See `ResolutionOptions`. */
  require?: ResolutionOptions['require'];
  /** Looks at what the base is to hold. May throw; the signal aborts when the merge is given up. */
  admit?(heads: { current: Oid; incoming: Oid }, result: () => Promise<Snapshot>, signal: AbortSignal): Promise<void>;
  /** Looks at both heads before anything is merged, and says whether the caller has named them. May throw. */
  check(heads: { current: Oid; incoming: Oid }): Promise<{ pinned: boolean }>;
}

export interface Merged {
  /** null when the base has all of the head already. */
  commit: Commit | null;
  /** The two heads that were merged. */
  current: Oid;
  incoming: Oid;
  resolved: ResolvedFile[];
}

/** A merge that people have to settle. */
export function mergeConflict(found: FoundConflicts): DomainError {
  const count = counted(found.conflicts.length, 'file is', 'files are');
  const message = found.conflicts_truncated ? `At least ${count} in conflict` : `${count} in conflict`;
  return new DomainError('merge_conflict', message, { details: { ...found } });
}

/**
 * Holds what a merge comes to against what the caller may bring in, and against the rule for names that holds for each new file.
 * @throws DomainError `name_collision` where a name of one side differs from one of the other only in case or normalisation, and what
 * `checkCarried` throws
 */
export async function checkResult(
  context: Pick<StudioContext, 'git' | 'studio' | 'grant'>,
  heads: { current: Oid; incoming: Oid },
  result: () => Promise<Snapshot>,
): Promise<void> {
  const { git } = context;
  await checkCarried(context, heads, result);
  const sides = await Promise.all([heads.current, heads.incoming].map((commit) => git.snapshot(commit)));
  const found = await (await result()).newCollision(sides.map(({ tree }) => tree));
  if (found === null) return;
  const [theirs, ours] = found;
  throw new DomainError(
    'name_collision',
    `${theirs} of the head differs from ${ours} of the base only in case or normalisation; rename one of them on its branch`,
  );
}

export const headOf = async ({ git }: Pick<StudioContext, 'git'>, field: string, branch: string): Promise<Oid> => {
  const oid = await git.head(branch);
  if (oid) return oid;
  throw new DomainError('not_found', `${field}: branch ${branch} does not exist`);
};

/**
 * Merges one branch into another. Both must still be where they were read when the base moves.
 * @throws DomainError `merge_conflict` with `details.conflicts`, `not_fast_forward`, `branch_moved`, `not_found`, and what `check` throws.
 */
export async function writeMerge(
  context: Pick<StudioContext, 'git' | 'studio'>,
  { base, head, strategy, fast_forward = strategy === 'ff', author, message, resolutions, ...checks }: MergeRequest,
): Promise<Merged> {
  const { git } = context;
  const { commit, result } = await git.write<Omit<Merged, 'commit'>>({
    branch: base,
    author,
    stored_head: true,
    async plan(snapshot, signal): Promise<CommitPlan<Omit<Merged, 'commit'>>> {
      const incoming = typeof head === 'string' ? await headOf(context, 'head', head) : head.oid;
      const current = snapshot.commit;
      if (current === null) throw new DomainError('not_found', `base: branch ${base} does not exist`);
      const { pinned } = await checks.check({ current, incoming });
      const result = { current, incoming, resolved: [] as ResolvedFile[] };
      const expect = typeof head === 'string' ? { [head]: incoming } : {};
      if (await git.isAncestor(incoming, current)) return { changes: [], message, result };
      if (fast_forward && (strategy === 'ff' || (await git.isAncestor(current, incoming)))) {
        await checks.admit?.({ current, incoming }, () => git.snapshot(incoming), signal);
        return { changes: [], message, result, fast_forward_to: incoming, expect };
      }
      const { tree, changes, resolved, ...found } = await mergeCommits(context, { current, incoming }, resolutions, {
        pinned,
        signal,
        ...(checks.require && { require: checks.require }),
      });
      if (found.conflicts.length > 0) throw mergeConflict(found);
      let staged: Promise<Snapshot> | undefined;
      const stage = async () => (await git.snapshotOfTree(tree)).with(changes);
      await checks.admit?.({ current, incoming }, () => (staged ??= stage()), signal);
      const parents = strategy === 'merge' ? [incoming] : [];
      return { tree, changes, parents, message, expect, result: { ...result, resolved } };
    },
  });
  return { commit, ...result };
}
