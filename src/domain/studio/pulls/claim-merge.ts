import { raw } from '@mikro-orm/core';
import { DomainError } from '../../../kernel/errors.ts';
import type { StudioContext } from '../studio.ts';
import { Pull } from './pull.entity.ts';

type Context = Pick<StudioContext, 'em' | 'services'>;

/** How long a claim holds, milliseconds. In its turn a merge takes 120 s at most; an older claim belongs to a process that died. */
const lease = 150_000;
/** A claim that is older is renewed when the merge is at its turn, which it may have waited for. */
const renewedAfter = lease / 10;

/** The right of one call to merge a pull request. */
export interface MergeClaim {
  /** When it was made, or renewed last. */
  at: Date;
}

/** Whether a merge of it is under way. */
export const isMerging = ({ merging_at }: Pull, now: Date) =>
  merging_at != null && now.getTime() - merging_at.getTime() < lease;

/**
 * Makes this call the only one that merges a pull request. A merge is a commit, so no transaction can span it: the claim is a row of its own
 * that all processes see.
 * @throws DomainError `not_mergeable` when it is closed, merged or a draft; `busy` while another call merges it.
 */
export async function claimMerge({ em, services }: Context, row: Pull): Promise<MergeClaim> {
  const unfit = refusalOf(row);
  if (unfit) throw unfit;
  const now = await services.sharedClock.now(em);
  const claimed = await em.nativeUpdate(
    Pull,
    {
      id: row.id,
      state: 'open',
      draft: false,
      $or: [{ merging_at: null }, { merging_at: { $lt: new Date(now.getTime() - lease) } }],
    },
    { merging_at: now },
  );
  if (claimed > 0) return { at: now };
  throw await lost({ em }, row);
}

/** Why a pull request cannot be merged; null: it can. */
function refusalOf({ number, state, draft }: Pull): DomainError | null {
  const refuse = (what: string) => new DomainError('not_mergeable', `Pull request ${number} ${what}`);
  if (state !== 'open') return refuse(state === 'merged' ? 'has been merged' : 'is closed');
  return draft ? refuse('is a draft') : null;
}

/** Why a claim is not to be had. */
async function lost({ em }: Pick<Context, 'em'>, { id, number }: Pull): Promise<DomainError> {
  const left = await em.fork().findOne(Pull, id);
  if (!left) return new DomainError('not_mergeable', `Pull request ${number} is gone`);
  return refusalOf(left) ?? new DomainError('busy', `Pull request ${number} is being merged`);
}

/** Claims made later than ours are of other calls; one that was ahead of a clock set back has been made earlier. */
const ours = ({ at }: MergeClaim) => ({ $lte: at });

/**
 * Renews a claim that the merge may have waited with for its turn: once it has run out the pull request may be closed, or merged by another call.
 * @throws DomainError `not_mergeable` and `busy`, as `claimMerge`, where it has been
 */
export async function keepClaim({ em, services }: Context, row: Pull, claim: MergeClaim): Promise<void> {
  if (services.sharedClock.recent().getTime() - claim.at.getTime() < renewedAfter) return;
  const now = await services.sharedClock.now(em);
  const open = { id: row.id, state: 'open' as const, draft: false, merging_at: ours(claim) };
  if ((await em.nativeUpdate(Pull, open, { merging_at: now })) === 0) throw await lost({ em }, row);
  claim.at = now;
}

/** Its branch may have gone meanwhile, and it have been closed for that. */
export async function releaseMerge({ em }: Context, row: Pull, claim: MergeClaim): Promise<void> {
  await em.nativeUpdate(Pull, { id: row.id, state: { $ne: 'merged' }, merging_at: ours(claim) }, { merging_at: null });
}

/** Writes down what was merged, whatever became of its branch meanwhile. */
export async function finishMerge(
  { em, services }: Context,
  { id }: Pull,
  heads: { head_sha: string; base_sha: string; merge_commit_sha: string },
): Promise<Pull> {
  const now = services.clock.now();
  const times = { merging_at: null, merged_at: now, closed_at: null, updated_at: now };
  // One whose claim has run out meanwhile finds the merge of another, which its record is about.
  const open = { id, state: { $ne: 'merged' as const } };
  await em.nativeUpdate(Pull, open, { ...heads, ...times, state: 'merged', version: raw<number>('version + 1') });
  return em.fork().findOneOrFail(Pull, id);
}
