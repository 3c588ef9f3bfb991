/** Entries and files changed by one commit: on the branch one works on, or where that takes no commits, in a draft that is begun for it. */
import type { ChangedFragment, CommitChangesMutation, EditedBranchFragment } from '../documents.ts';
import { CommitChanges, SaveChangesToDraft, type SaveToDraftInput, UndoCommit } from '../documents.ts';
import { send } from './command.ts';
import type { Fault } from './faults.ts';
import { i18n } from './i18n.ts';
import type { Place } from './place.ts';

interface EntryAt {
  collection: string;
  slug: string;
}

/** One change of a file, as `commitChanges` takes it. */
export type FileAction =
  | { op: 'move_media'; from: string; path: string; sha: string }
  | { op: 'delete_media'; path: string; sha: string; force?: boolean }
  | { op: 'upload_media'; path: string; content: string; overwrite: true; sha: string }
  | { op: 'write_file'; path: string; content: string; sha?: string };

/** One change of an entry. */
export type ChangeAction = EntryAt &
  (
    | { op: 'update'; frontmatter?: Record<string, unknown>; unset?: string[]; raw?: string; sha?: string }
    | { op: 'move'; to: string }
    | { op: 'delete'; sha?: string; force?: boolean }
  );

/** A commit of changes. */
export interface Committed {
  /** Branch of the draft that was begun for them; null: they are where one works. */
  begun: string | null;
  sha: string;
  /** Commit before them; null: they are the first. */
  parent: string | null;
  results: readonly ChangedFragment[];
}

export type ChangesOutcome = { committed: Committed | null; fault: null } | { committed: null; fault: Fault };

/** What shows entries is read anew. */
const shown = { additionalTypenames: ['Collection', 'EntryConnection', 'MediaConnection'] };

const refused = (fault: Fault): ChangesOutcome => ({ committed: null, fault });

const conflict = (): Fault => ({
  code: 'CONFLICT',
  reason: 'conflict',
  message: i18n.t('content:conflict'),
  fields: new Map(),
  details: {},
});

type Answer = Pick<NonNullable<CommitChangesMutation['commitChanges']>, 'commit' | 'results' | 'conflicts'>;

function outcomeOf(answer: Answer | null | undefined, begun: string | null): ChangesOutcome {
  if (!answer || answer.conflicts?.length) return refused(conflict());
  const { sha, parents: [parent = null] = [] } = answer.commit ?? {};
  if (sha === undefined) return { committed: null, fault: null };
  return { committed: { begun, sha, parent, results: answer.results }, fault: null };
}

/** Whether a change begins a draft: the branch takes changes only from others. */
export const opensDraft = (branch: EditedBranchFragment | null): boolean =>
  branch !== null && !branch.can_commit.allowed && branch.can_commit.reason === 'branch_protected';

/** Begins a draft with changes. */
export const beginDraft = ({ organization, project }: Place, input: SaveToDraftInput) =>
  send(SaveChangesToDraft, { organization, project, input }, shown);

/**
 * Commits at most 100 changes.
 * @param title of a draft that is begun for them
 * @param message of the commit; without it the server says what it does
 * @returns null when nothing is otherwise than before
 */
export async function commitChanges(
  place: Place,
  actions: readonly (ChangeAction | FileAction)[],
  title: string,
  message?: string,
): Promise<ChangesOutcome> {
  const { organization, project, draft: branch } = place;
  const input = { actions: [...actions], message: message ?? null };
  const direct = await send(
    CommitChanges,
    { organization, project, input: { ...input, branch: branch ?? null } },
    shown,
  );
  if (!direct.fault) return outcomeOf(direct.data.commitChanges, null);
  if (direct.fault.reason !== 'branch_protected') return refused(direct.fault);
  const drafted = await beginDraft(place, { ...input, base: branch ?? null, title });
  if (drafted.fault) return refused(drafted.fault);
  const saved = drafted.data.saveToDraft;
  return outcomeOf(saved, saved?.branch?.name ?? null);
}

/** Takes a commit back by one more; refused where the same has been changed since. */
export async function undoChanges(place: Place, { sha, begun }: Committed): Promise<Fault | null> {
  const { organization, project, draft } = place;
  const input = { commit: sha, branch: begun ?? draft ?? null };
  const { data, fault } = await send(UndoCommit, { organization, project, input }, shown);
  return fault ?? (data.revertCommit?.conflicts?.length ? conflict() : null);
}
