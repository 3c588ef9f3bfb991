import { raw } from '@mikro-orm/core';
import { DomainError } from '../../../kernel/errors.ts';
import type { StudioContext } from '../studio.ts';
import { Pull } from './pull.entity.ts';

type Context = Pick<StudioContext, 'em' | 'services'>;

/** A merge takes 120 s at most; an older claim belongs to a process that died. */
const lease = 150_000;

/** Whether a merge of it is under way. */
export const isMerging = ({ merging_at }: Pull, now: Date) =>
  merging_at != null && now.getTime() - merging_at.getTime() < lease;

/**
 * Makes this call the only one that merges a pull request. A merge is a commit, so no transaction can span it: the claim is a row of its own
 * that all processes see.
 * @throws DomainError `not_mergeable` when it is closed, merged or a draft; `busy` while another call merges it.
 */
export async function claimMerge({ em, services }: Context, row: Pull): Promise<void> {
  const refuse = (what: string) => new DomainError('not_mergeable', `Pull request ${row.number} ${what}`);
  if (row.state !== 'open') throw refuse(row.state === 'merged' ? 'has been merged' : 'is closed');
  if (row.draft) throw refuse('is a draft');
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
  if (claimed > 0) return;
  const left = await em.fork().findOne(Pull, row.id);
  if (left?.state === 'open' && !left.draft)
    throw new DomainError('busy', `Pull request ${row.number} is being merged`);
  throw refuse('can no longer be merged');
}

/** Its branch may have gone meanwhile, and it have been closed for that. */
export async function releaseMerge({ em }: Context, row: Pull): Promise<void> {
  await em.nativeUpdate(Pull, { id: row.id, state: { $ne: 'merged' } }, { merging_at: null });
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
