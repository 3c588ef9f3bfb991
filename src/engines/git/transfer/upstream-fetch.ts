import { newRefNameProblem } from '../../../domain/studio/ref-name.ts';
import { DomainError } from '../../../kernel/errors.ts';
import type { Ref } from '../../../ports/git-records.ts';
import type { Upstream, UpstreamRefs } from '../../../ports/git-transfer.ts';
import { wallTime } from '../git-process.ts';
import { checkIncoming } from '../incoming/check-incoming.ts';
import type { Tip } from '../incoming/limits.ts';
import type { RefUpdate } from '../refs/ref-updater.ts';
import type { GitRepository } from '../repository.ts';
import { receiving } from '../upkeep/maintenance.ts';
import { mostFetched, mostFetchedRefs } from './reach.ts';
import { aside, lsRemote, speak, tracking, type UpstreamContext } from './upstream.ts';
import { isIncomplete, tooManyBranches, upstreamError } from './upstream-failure.ts';

/** How often the tracked branches are read again when another process moves them meanwhile. */
const attempts = 3;

/**
 * Lists the upstream's branches, and fetches them where they are not what the last fetch found.
 * @returns them as they are tracked now, `refs/remotes/upstream/<branch>`
 */
export async function fetchUpstream(
  context: UpstreamContext,
  repository: GitRepository,
  upstream: Upstream,
): Promise<readonly Ref[]> {
  const { branches } = await lsRemote(context, upstream);
  // Before a fetch writes a file for each.
  checkCount(context, branches);
  const isWhole = (await isAside(repository, branches)) || (await fetchAside(context, repository, upstream));
  for (let attempt = 1; ; attempt += 1) {
    try {
      await accept(context, repository, isWhole);
      return await repository.refsBelow(tracking);
    } catch (error) {
      const raced = error instanceof DomainError && error.code === 'branch_moved';
      if (!raced || attempt === attempts) throw error;
    }
  }
}

/** @throws DomainError `upstream_unavailable` for more branches than a mirror may have */
function checkCount({ options }: UpstreamContext, branches: readonly Ref[]): void {
  const most = mostFetchedRefs(options);
  if (branches.length > most) throw tooManyBranches(most);
}

/** Whether what stands aside is what the upstream has, so that a fetch would bring nothing. */
async function isAside(repository: GitRepository, branches: UpstreamRefs['branches']): Promise<boolean> {
  const found = new Map((await repository.refsBelow(aside)).map(({ name, oid }) => [name, oid]));
  const placeOf = ({ name }: Ref) => name.replace(/^refs\/heads/, aside);
  return found.size === branches.length && branches.every((branch) => found.get(placeOf(branch)) === branch.oid);
}

/** @returns whether all branches of the upstream stand aside as they are there */
async function fetchAside(context: UpstreamContext, repository: GitRepository, upstream: Upstream): Promise<boolean> {
  const quiet = ['--quiet', '--prune', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance'];
  const fetch = ['fetch', ...quiet, '--no-recurse-submodules', '--end-of-options'];
  const args = ({ url }: { url: string }) => [...fetch, url, `+refs/heads/*:${aside}/*`];
  const { stderr } = await receiving(repository.gitDir, mostFetched(context.options), () =>
    speak(context, upstream, wallTime.fetch, args, repository.gitDir),
  );
  const isWhole = !isIncomplete(stderr);
  if (!isWhole) context.log.warn({ stderr }, 'an upstream could not be used');
  return isWhole;
}

/** What one branch that may be tracked is on the upstream and as it is tracked; null: it is not there. */
interface Difference {
  branch: string;
  fetched: string | null;
  tracked: string | null;
}

async function differences(repository: GitRepository): Promise<Difference[]> {
  const read = async (prefix: string) =>
    new Map((await repository.refsBelow(prefix)).map(({ name, oid }) => [name.slice(prefix.length + 1), oid]));
  const [fetched, tracked, here] = [await read(aside), await read(tracking), await read('refs/heads')];
  const isFollowed = (branch: string) => tracked.has(branch) || here.has(branch) || newRefNameProblem(branch) === null;
  return [...new Set([...fetched.keys(), ...tracked.keys()])]
    .filter(isFollowed)
    .map((branch) => ({ branch, fetched: fetched.get(branch) ?? null, tracked: tracked.get(branch) ?? null }))
    .filter((found) => found.fetched !== found.tracked);
}

/** @param isWhole whether all branches of the upstream stand aside as they are there */
async function accept(context: UpstreamContext, repository: GitRepository, isWhole: boolean): Promise<void> {
  const { processes, limits, signal } = context;
  const found = await differences(repository);
  const place = { processes, gitDir: repository.gitDir, env: {}, signal };
  const tips = found.flatMap(({ branch, fetched }): Tip[] =>
    fetched ? [{ name: branch, oid: fetched, ref: `${tracking}/${branch}` }] : [],
  );
  try {
    // None is taken: a branch that was passed over stands aside as an earlier fetch found it.
    if (!isWhole) throw upstreamError('incomplete');
    // It may have listed fewer than it sent.
    checkCount(context, await repository.refsBelow(aside));
    await checkIncoming(place, tips, { scope: 'new', except: `${aside}/*` }, limits);
  } catch (error) {
    // Nothing is to keep alive what is not taken in.
    await move(
      repository,
      found.map(({ branch, fetched, tracked }) => ({ ref: `${aside}/${branch}`, to: tracked, from: fetched })),
    );
    throw error;
  }
  await move(
    repository,
    found.map(({ branch, fetched, tracked }) => ({ ref: `${tracking}/${branch}`, to: fetched, from: tracked })),
  );
}

/** Deletions first: a branch may stand where a directory was, and in one transaction git does not see that. */
async function move(repository: GitRepository, updates: RefUpdate[]): Promise<void> {
  await repository.moveRefs(updates.filter(({ to }) => to === null));
  await repository.moveRefs(updates.filter(({ to }) => to !== null));
}
