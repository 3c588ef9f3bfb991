import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { Project } from '../../projects/project.entity.ts';
import { conflictsBetween } from '../merge/merge-commits.ts';
import { ConflictRoom } from '../merge/merge-sides.ts';
import { conflictTime, timeLimit, unlessTooMuch } from '../merge/mergeability.ts';
import { leftOutNotice, newRefNameProblem } from '../ref-name.ts';
import type { StudioContext } from '../studio.ts';
import { Upstream, UpstreamBranch } from './upstream.entity.ts';
import type { Divergence, Sync } from './upstream.schema.ts';

const namesBelow = async (git: Repository, prefix: string) =>
  (await git.refsBelow(prefix)).map(({ name }) => name.slice(prefix.length + 1));

/** Short names of the upstream's branches that the last fetch left out, since no branch of such a name can be made here. */
async function leftOutBranches(git: Repository): Promise<string[]> {
  const odd = (await namesBelow(git, 'refs/portico/upstream')).filter((name) => newRefNameProblem(name) !== null);
  if (odd.length === 0) return [];
  const followed = new Set(await namesBelow(git, 'refs/remotes/upstream'));
  return odd.filter((name) => !followed.has(name));
}

/** What the branches of the two sides hold, by their short names; of the upstream, when it was last fetched or pushed to. */
export async function branchHeads(git: Repository): Promise<{ here: Map<string, Oid>; there: Map<string, Oid> }> {
  const below = async (prefix: string) =>
    new Map((await git.refsBelow(prefix)).map(({ name, oid }) => [name.slice(prefix.length + 1), oid]));
  return { here: await below('refs/heads'), there: await below('refs/remotes/upstream') };
}

type Context = Pick<StudioContext, 'em' | 'git' | 'services' | 'studio' | 'project'>;

/** On the connection of the context, which may be a transaction's, with rows as they are now. */
const freshly = ({ em }: Context) => em.fork({ keepTransactionContext: true });

const isoOf = (date: Date | null | undefined) => date?.toISOString() ?? null;

const untouched = { upstream_sha: null, ahead_by: 0, behind_by: 0 };

/** Commits on either side; a branch that is missing on one side counts as none. */
async function distanceOf({ git }: Context, local: string | null, remote: string | null) {
  if (local === null || remote === null || local === remote) return { ahead_by: 0, behind_by: 0 };
  return git.aheadBehind(local, remote);
}

/** How branches (short names) of a mirror stand to the upstream, in their order; null when the project has no upstream. */
export async function syncOf(context: Context, branches: readonly string[]): Promise<Sync[] | null> {
  const { git, project } = context;
  const em = freshly(context);
  const upstream = await em.findOne(Upstream, project.id);
  if (!upstream) return null;
  const rows = await em.find(UpstreamBranch, { project_id: project.id, name: { $in: [...branches] } });
  const known = new Map(rows.map((row) => [row.name, row]));
  const begun = upstream.fetched_at === null ? await importOf(em, project.id) : null;
  return Promise.all(
    branches.map(async (branch) => {
      const row = known.get(branch);
      const [local, remote] = [await git.head(branch), await git.upstreamHead(branch)];
      const message = messageOf(row, local, remote) ?? upstream.fetch_error ?? begun?.message;
      return {
        ...untouched,
        ...(await distanceOf(context, local, remote)),
        state: begun?.state ?? stateOf(row, local === remote, upstream.fetch_error != null),
        upstream_sha: remote,
        last_fetched_at: isoOf(upstream.fetched_at),
        last_pushed_at: isoOf(row?.pushed_at),
        ...(message != null && { message }),
      };
    }),
  );
}

/** How an import stands that has not brought in what the upstream has; null when it has, or there was none. */
async function importOf(
  em: EntityManager,
  id: number,
): Promise<{ state: Sync['state']; message: string | null } | null> {
  const { import: state } = await em.findOneOrFail(Project, id);
  if (!state || state.state === 'completed') return null;
  return { state: state.state === 'failed' ? 'error' : 'pending', message: state.message };
}

/** Of a problem while it stands; of what happened to the branch until it moves again. */
function messageOf(row: UpstreamBranch | undefined, local: string | null, remote: string | null): string | null {
  const holds = row?.problem == null ? local === row?.synced_sha : local !== remote;
  return holds ? (row?.message ?? null) : null;
}

/** A problem stands only while the two sides differ: they may have met since by themselves. */
function stateOf(row: UpstreamBranch | undefined, isSame: boolean, isUnreachable: boolean): Sync['state'] {
  if (!isSame && row?.problem === 'diverged') return 'diverged';
  if (!isSame && row?.problem === 'refused') return 'error';
  if (!isSame) return 'pending';
  return isUnreachable ? 'error' : 'in_sync';
}

/**
 * Whether branches differ from the upstream's as it was last seen, though nothing is known to be in the way that only people can remove.
 * @param repository its id, which is the project's uuid
 */
export async function hasUnpushed({ git, orm }: Services, repository: string, projectId: number): Promise<boolean> {
  const { here, there } = await branchHeads(git.open(repository));
  const differing = [...here.keys(), ...there.keys()].filter((name) => here.get(name) !== there.get(name));
  if (differing.length === 0) return false;
  const stuck = await orm.em
    .fork()
    .find(UpstreamBranch, { project_id: projectId, problem: { $in: ['diverged', 'refused'] } });
  const names = new Set(stuck.map(({ name }) => name));
  return differing.some((name) => !names.has(name));
}

const severity: readonly Sync['state'][] = ['in_sync', 'pending', 'error', 'diverged'];

/** The upstream of a project as a whole: figures of the default branch, and the worst state of any branch. */
export async function syncOfAll(context: Context): Promise<{ sync: Sync; diverged: Divergence[] } | null> {
  const { git, project } = context;
  const main = await git.defaultBranch();
  const [sync] = (await syncOf(context, [main])) ?? [];
  if (!sync) return null;
  const troubled = await freshly(context).find(
    UpstreamBranch,
    { project_id: project.id, problem: { $ne: null } },
    { orderBy: { name: 'asc' } },
  );
  const others =
    (await syncOf(
      context,
      troubled.map(({ name }) => name),
    )) ?? [];
  const worst = [sync, ...others].reduce((a, b) => (severity.indexOf(b.state) > severity.indexOf(a.state) ? b : a));
  const shown = { conflictRoom: new ConflictRoom(), signal: timeLimit(conflictTime) };
  const diverged: Divergence[] = [];
  for (const [at, row] of troubled.entries()) {
    const found = others[at]?.state === 'diverged' ? await divergenceOf(context, row, shown) : null;
    if (found) diverged.push(found);
  }
  const message = worst.message ?? leftOutNotice((await leftOutBranches(git)).map((name) => `refs/heads/${name}`));
  return {
    sync: { ...sync, state: worst.state, ...(message !== null && { message }) },
    diverged,
  };
}

/** What has to be settled, as it is now: both sides may have moved on since it was found. */
async function divergenceOf(
  context: Context,
  { name: branch, message }: Pick<UpstreamBranch, 'name' | 'message'>,
  shown: { conflictRoom: ConflictRoom; signal: AbortSignal },
): Promise<Divergence | null> {
  const { git, studio } = context;
  const [local, remote] = [await git.head(branch), await git.upstreamHead(branch)];
  if (local === null) return null;
  const record = { branch, head_sha: remote, base_sha: local, message: message ?? '' };
  if (remote === null || (await git.mergeBase(local, remote)) === null) return { ...record, conflicts: [] };
  const pair = { current: local, incoming: remote };
  const found = await unlessTooMuch(conflictsBetween({ git, studio }, pair, shown));
  return { ...record, ...(found ?? { conflicts: [], conflicts_truncated: true }) };
}
