import type { ProjectContext } from '../../operation.ts';
import type { Oid } from '../../ports/git-records.ts';

/** One commit to be merged into another. */
export interface Pair {
  current: Oid;
  incoming: Oid;
}

type Context = Pick<ProjectContext, 'em' | 'project' | 'services'>;

/** Raised when entries are merged by other rules than before: what was found out by the old ones is tried again. */
const version = 1;

/** All that decides about a merge beside the two commits. */
const rulesOf = ({ project }: Context) => `${version}:${project.settings.content_root ?? ''}`;

export const keyOf = ({ current, incoming }: Pair) => `${current}:${incoming}`;

/** What the database knows of some pairs, by their keys. */
export async function readMergeability(context: Context, pairs: readonly Pair[]): Promise<Map<string, boolean>> {
  if (pairs.length === 0) return new Map();
  const places = pairs.map(() => '(?, ?)').join(', ');
  const rows = (await context.em.execute(
    `select current_sha as current, incoming_sha as incoming, mergeable from mergeability
    where project_id = ? and rules = ? and (current_sha, incoming_sha) in (${places})`,
    [context.project.id, rulesOf(context), ...pairs.flatMap(({ current, incoming }) => [current, incoming])],
  )) as (Pair & { mergeable: boolean })[];
  return new Map(rows.map((row) => [keyOf(row), row.mergeable]));
}

/**
 * Keeps what was found out. Written on the connection of the context: within a transaction that holds the project's row any other one would
 * wait for it, and it for the other.
 */
export async function writeMergeability(
  context: Context,
  found: readonly (Pair & { mergeable: boolean })[],
): Promise<void> {
  if (found.length === 0) return;
  const { em, project, services } = context;
  const shared = [project.id, rulesOf(context), services.clock.now()];
  // Two that write the same rows take them in the same order.
  const rows = found.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const values = rows.flatMap(({ current, incoming, mergeable }) => [...shared, current, incoming, mergeable]);
  await em.execute(
    `insert into mergeability (project_id, rules, tested_at, current_sha, incoming_sha, mergeable)
    values ${rows.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')}
    on conflict (project_id, current_sha, incoming_sha) do update
    set rules = excluded.rules, mergeable = excluded.mergeable, tested_at = excluded.tested_at`,
    values,
  );
}
