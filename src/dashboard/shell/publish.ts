import { MergeReview, OpenReview, type ResolutionInput } from '../documents.ts';
import { send } from '../lib/command.ts';
import type { Fault } from '../lib/faults.ts';
import type { Place } from '../lib/place.ts';

type Project = Pick<Place, 'organization' | 'project'>;

/** How publishing ended. `conflict`: the review is open, and its conflicts are to be resolved. */
export type Published =
  | { state: 'published'; branchDeleted: boolean }
  | { state: 'conflict'; number: number }
  | { state: 'refused'; fault: Fault; number: number | null };

/** Opens the review of a draft: the pull request into the published version. */
export async function openReview({ organization, project }: Project, { head, title }: { head: string; title: string }) {
  const { data, fault } = await send(OpenReview, { organization, project, input: { head, title } });
  return fault ? { number: null, fault } : { number: data.createPull?.number ?? null, fault: null };
}

interface Merge {
  number: number;
  /** Commit the person has seen; another one is refused. */
  sha: string;
  deleteBranch: boolean;
  /** How its conflicts are settled. */
  resolutions?: ResolutionInput[];
}

/** Merges an open review. */
export async function mergeReview({ organization, project }: Project, merge: Merge): Promise<Published> {
  const { number, sha, deleteBranch, resolutions = [] } = merge;
  const input = { number, sha, delete_branch: deleteBranch, resolutions };
  const { data, fault } = await send(MergeReview, { organization, project, input });
  if (fault) return { state: 'refused', fault, number };
  const merged = data.mergePull;
  if (merged && !merged.merged) return { state: 'conflict', number };
  return { state: 'published', branchDeleted: merged?.branch_deleted === true };
}
