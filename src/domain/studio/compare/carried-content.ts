/**
 * What a merge carries from branch to branch was admitted where it was changed, and what is content there may be code here: the branch may stand
 * on a commit from before the site was configured, where any directory with Markdown is a collection. So without manage_studio a merge brings no
 * such file: one that is code on both sides of the move, and was content at a commit that changed it.
 */
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid, Snapshot } from '../../../ports/git-records.ts';
import { isContent, isDeclaredContent } from '../content/admission.ts';
import type { SiteIndex } from '../content/site-index.ts';
import type { StudioContext } from '../studio.ts';

type Context = Pick<StudioContext, 'git' | 'studio'>;

interface Move {
  /** What the branch holds. */
  current: Oid;
  /** Commits whose histories it gets. */
  incoming: readonly Oid[];
  /** What it is to hold, where that can be read already: what is declared there is content, too. */
  result?: (() => Promise<Snapshot>) | undefined;
  /** Ends what takes git long. */
  signal?: AbortSignal | undefined;
}

/** Sites that are looked at for one move; more are a manager's matter. */
const mostSites = 100;

/** The first file found that edit_studio may have been enough to change, and is code here; null: none. */
export async function findCarried(
  { git, studio }: Context,
  { current, incoming, result, signal }: Move,
): Promise<string | null> {
  const siteAt = async (commit: Oid | null) => studio.content.site(git, await git.snapshot(commit));
  const sites = new Map<Oid | null, SiteIndex | null>();
  const isContentAt = async (commit: Oid | null, path: string, mode: string) => {
    if (!sites.has(commit)) sites.set(commit, sites.size < mostSites ? await siteAt(commit) : null);
    const site = sites.get(commit);
    return !site || isContent(site, path, mode);
  };
  let after: SiteIndex | undefined;
  let edges: readonly Oid[] | undefined;
  for await (const { path, mode, commit, parent } of git.introduced(incoming, current, signal)) {
    if (await isContentAt(current, path, mode)) continue;
    edges ??= await git.edges(incoming, current);
    // A first commit is judged by what it makes.
    let wasContent = await isContentAt(parent ?? commit, path, mode);
    for (const edge of edges) wasContent ||= await isContentAt(edge, path, mode);
    if (!wasContent) continue;
    if (result) after ??= await studio.content.site(git, await result());
    if (!after || !isDeclaredContent(after, path, mode)) return path;
  }
  return null;
}

export const carriedProblem = (path: string) =>
  `${path} is outside collections and media here, and was content where it was changed`;

/** @throws DomainError `forbidden` where a merge with this result needs manage_studio and the caller lacks it */
export async function checkCarried(
  context: Context & Pick<StudioContext, 'grant'>,
  { current, incoming }: { current: Oid; incoming: Oid },
  result: () => Promise<Snapshot>,
  signal?: AbortSignal,
): Promise<void> {
  if (context.grant.permissions.has('manage_studio')) return;
  const path = await findCarried(context, { current, incoming: [incoming], result, signal });
  if (path !== null) throw new DomainError('forbidden', `${carriedProblem(path)}. Missing permission: manage_studio`);
}
