import { DomainError } from '../../../errors.ts';
import type { ProjectContext } from '../../../operation.ts';
import type { Committed } from '../../../ports/git-writes.ts';
import { messageOf } from '../../../studio/entries/write-entry.ts';
import { directBranch } from '../../../studio/repository/branch-rules.ts';
import type { SnapshotImport } from '../snapshot.entity.ts';
import { manifestPath } from './map-files.ts';
import { type Importing, type ImportPlan, planImport } from './plan-import.ts';

type Context = Pick<ProjectContext, 'git' | 'project'>;

const mostTries = 3;

/** What the commit of an import says of itself, so that a process that takes it over finds it. */
const trailer = (id: number) => `Portico-Import: ${id}`;

/** The commit an earlier process has made for this import, before it could say so; null: none. */
export async function earlierCommit(
  { git }: Pick<Context, 'git'>,
  { id, request }: SnapshotImport,
): Promise<string | null> {
  const head = await git.head(request.branch);
  if (head === null) return null;
  const path = request.directory === '' ? manifestPath : `${request.directory}/${manifestPath}`;
  const commit = (await git.lastCommits(head, [path])).get(path);
  return commit?.message.split('\n').includes(trailer(id)) ? commit.sha : null;
}

const isMoved = (error: unknown): boolean => error instanceof DomainError && error.code === 'branch_moved';

/**
 * Commits what an import leaves of its files to be written; nothing when all of it is there.
 * @throws DomainError `branch_moved` when the head is not the expected one, or has moved three times; whatever the branch refuses
 */
async function commit(
  { git, project }: Context,
  row: SnapshotImport,
  host: string,
  importing: Importing,
  keep: (plan: ImportPlan) => Promise<void>,
): Promise<Committed<ImportPlan>> {
  const { branch, message, expected_head } = row.request;
  const subject = messageOf(message ?? undefined, `Import snapshot ${row.snapshot_id} of ${host}`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await git.write({
        branch: await directBranch({ git, project }, branch),
        author: { name: row.actor.name, email: row.actor.email },
        async plan(head) {
          if (expected_head !== null && expected_head !== head.commit)
            throw new DomainError('branch_moved', 'expected_head: the branch has moved since it was read');
          const plan = await planImport(head, importing);
          if (plan.changes.length > 0) await keep(plan);
          return { changes: plan.changes, message: `${subject}\n\n${trailer(row.id)}`, result: plan };
        },
      });
    } catch (error) {
      if (!isMoved(error) || expected_head !== null || attempt === mostTries) throw error;
    }
  }
}

/**
 * Commits an import, unless a process that was given up as dead has done it meanwhile.
 * @param host that was captured
 * @param keep told what is about to be committed, so that whoever takes the import over knows it from the rows
 * @returns the commit; null when nothing was different
 * @throws DomainError `branch_moved` when the head is not the expected one, or has moved three times; whatever the branch refuses
 */
export async function commitImport(
  context: Context,
  row: SnapshotImport,
  host: string,
  importing: Importing,
  keep: (plan: ImportPlan) => Promise<void>,
): Promise<string | null> {
  try {
    const { commit: made, result } = await commit(context, row, host, importing, keep);
    const sha = made?.sha ?? (await earlierCommit(context, row));
    if (sha === null) await keep(result);
    return sha;
  } catch (error) {
    const sha = isMoved(error) ? await earlierCommit(context, row) : null;
    if (sha === null) throw error;
    return sha;
  }
}
