/** Entries and files changed by one commit: on the branch one works on, or where that takes no commits, in a draft that is begun for it. */
import type { ChangedFragment, CommitChangesMutation, EditedBranchFragment } from '../documents.ts';
import { CommitChanges, EntryBefore, SaveChangesToDraft, type SaveToDraftInput } from '../documents.ts';
import { client } from './client.ts';
import { send } from './command.ts';
import { type Fault, faultOf } from './faults.ts';
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
    | { op: 'create'; path: string; raw: string }
  );

/** A commit of changes. */
export interface Committed<Action = ChangeAction> {
  place: Place;
  /** Branch of the draft that was begun for them; null: they are where one works. */
  begun: string | null;
  sha: string;
  /** Commit before them; null: they are the first. */
  parent: string | null;
  actions: readonly Action[];
  results: readonly ChangedFragment[];
}

export type ChangesOutcome<Action = ChangeAction> =
  | { committed: Committed<Action> | null; fault: null }
  | { committed: null; fault: Fault };

/** What shows entries is read anew. */
const shown = { additionalTypenames: ['Collection', 'EntryConnection', 'MediaConnection'] };

const refused = (fault: Fault): { committed: null; fault: Fault } => ({ committed: null, fault });

const conflict = (): Fault => ({
  code: 'CONFLICT',
  reason: 'conflict',
  message: i18n.t('content:conflict'),
  fields: new Map(),
  details: {},
});

type Answer = Pick<NonNullable<CommitChangesMutation['commitChanges']>, 'commit' | 'results' | 'conflicts'>;

function outcomeOf<Action>(
  place: Place,
  actions: readonly Action[],
  answer: Answer | null | undefined,
  begun: string | null,
): ChangesOutcome<Action> {
  if (!answer || answer.conflicts?.length) return refused(conflict());
  const { sha, parents: [parent = null] = [] } = answer.commit ?? {};
  if (sha === undefined) return { committed: null, fault: null };
  return { committed: { place, begun, sha, parent, actions, results: answer.results }, fault: null };
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
export async function commitChanges<Action extends ChangeAction | FileAction>(
  place: Place,
  actions: readonly Action[],
  title: string,
  message?: string,
): Promise<ChangesOutcome<Action>> {
  const { organization, project, draft: branch } = place;
  const input = { actions: [...actions], message: message ?? null };
  const direct = await send(
    CommitChanges,
    { organization, project, input: { ...input, branch: branch ?? null } },
    shown,
  );
  if (!direct.fault) return outcomeOf(place, actions, direct.data.commitChanges, null);
  if (direct.fault.reason !== 'branch_protected') return refused(direct.fault);
  const drafted = await beginDraft(place, { ...input, base: branch ?? null, title });
  if (drafted.fault) return refused(drafted.fault);
  const saved = drafted.data.saveToDraft;
  return outcomeOf(place, actions, saved, saved?.branch?.name ?? null);
}

/** What makes an entry again what it was before its change. @throws Fault when that cannot be read */
async function inverse(
  { place, parent }: Committed,
  action: ChangeAction,
  result: ChangedFragment,
): Promise<ChangeAction> {
  const { organization, project } = place;
  const { collection, slug } = action;
  const now = { collection, slug: result.slug ?? slug };
  if (action.op === 'move') return { op: 'move', ...now, to: slug };
  if (action.op === 'create' || parent === null) return { op: 'delete', ...now };
  const { data, error } = await client
    .query(EntryBefore, { organization, project, ref: parent, collection, slug })
    .toPromise();
  const before = data?.project?.studio?.entry;
  if (error) throw faultOf(error);
  const raw = before?.raw ?? '';
  if (action.op === 'delete') return { op: 'create', ...now, path: before?.path ?? '', raw };
  return { op: 'update', ...now, raw, ...(result.sha !== null && { sha: result.sha }) };
}

/** Takes changes back by one more commit, byte for byte; refused where somebody has changed the same entries since. */
export async function undoChanges(committed: Committed): Promise<Fault | null> {
  const { place, begun, actions, results } = committed;
  try {
    const changed = actions.flatMap((action, at) => {
      const result = results[at];
      return result && !result.unchanged ? [inverse(committed, action, result)] : [];
    });
    // The last first, as a change may build on those before it.
    const inverses = (await Promise.all(changed)).reverse();
    const at = begun === null ? place : { ...place, draft: begun };
    return (await commitChanges(at, inverses, '')).fault;
  } catch (fault) {
    return fault as Fault;
  }
}
