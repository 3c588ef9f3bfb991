import type { ProjectContext } from '../../operation.ts';
import type { PushCommand, PushedChange, PushedObjects, PushVerdict } from '../../ports/git-transfer.ts';
import { isContent } from '../content/is-content.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { isProtected } from './branch-rules.ts';

type Context = Pick<ProjectContext<'delete_studio' | 'manage_studio'>, 'grant' | 'project' | 'services' | 'git'>;

const heads = 'refs/heads/';
const branchOf = (ref: string) => (ref.startsWith(heads) ? ref.slice(heads.length) : null);
/** What a change needs beside edit_studio; null when nothing. */
function neededFor(site: SiteIndex, change: PushedChange): 'delete_studio' | 'manage_studio' | null {
  if (!isContent(site, change.path, change.mode)) return 'manage_studio';
  return change.status === 'removed' ? 'delete_studio' : null;
}

/** Why a ref may not move as asked, whatever it would move to; null when it may. */
function refusalOfMove({ grant, project }: Context, { ref, new: to, forced }: PushCommand): string | null {
  const branch = branchOf(ref);
  const name = branch ?? ref;
  const guarded = branch !== null && isProtected(project, branch);
  if (guarded && project.settings.require_pull) return `${name} is protected; it moves by merging pull requests`;
  if (to === null) {
    if (guarded) return `${name} is protected and cannot be deleted`;
    return grant.permissions.has('delete_studio') ? null : `deleting ${name} needs the permission delete_studio`;
  }
  if (!forced) return null;
  if (guarded) return `${name} is protected and cannot be rewritten`;
  return grant.permissions.has('manage_studio') ? null : `rewriting ${name} needs the permission manage_studio`;
}

/** The site a push is held against: what the branch holds now, or the default branch for a new one. What is pushed has no say. */
async function siteBefore({ git, services }: Context, { old }: PushCommand): Promise<SiteIndex> {
  const known = old ?? (await git.head(await git.defaultBranch()));
  return services.content.site(git, await git.snapshot(known));
}

async function refusalOfChanges(context: Context, command: PushCommand, pushed: PushedObjects): Promise<string | null> {
  const { permissions } = context.grant;
  if (command.new === null || (permissions.has('manage_studio') && permissions.has('delete_studio'))) return null;
  const site = await siteBefore(context, command);
  for await (const change of pushed.introduced(command.new)) {
    const needed = neededFor(site, change);
    if (needed && !permissions.has(needed)) {
      const what = needed === 'manage_studio' ? 'is outside collections and media' : 'is deleted';
      return `${change.path} ${what}, which needs the permission ${needed}`;
    }
  }
  return null;
}

/**
 * Decides about a push: content needs edit_studio, deletions delete_studio too, all other files, rewritten branches and links manage_studio;
 * protected branches are neither deleted nor rewritten. The whole push is refused for the first reason found.
 */
export async function decidePush(
  context: Context,
  commands: readonly PushCommand[],
  pushed: PushedObjects,
): Promise<PushVerdict> {
  for (const command of commands) {
    const message = refusalOfMove(context, command) ?? (await refusalOfChanges(context, command, pushed));
    if (message !== null) return { allow: false, message };
  }
  return { allow: true };
}
