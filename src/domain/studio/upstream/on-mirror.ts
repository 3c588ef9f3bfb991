import type { AnyOperation } from '../../../kernel/operation.ts';
import type { Services } from '../../../kernel/services.ts';
import { isRecord } from '../../../lib/objects.ts';
import type { Repository } from '../../../ports/git.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { syncOf } from './sync-record.ts';

/** The same repository, noting which branches (short names) are moved through it. */
function noteMoves(git: Repository, moved: Set<string>): Repository {
  const own: Partial<Repository> = {
    async write(request) {
      const committed = await git.write(request);
      if (committed.commit) moved.add(request.branch);
      return committed;
    },
    async createBranch(name, oid) {
      await git.createBranch(name, oid);
      moved.add(name);
    },
    async deleteBranch(name, expected) {
      await git.deleteBranch(name, expected);
      moved.add(name);
    },
  };
  return new Proxy(git, {
    get(target, key) {
      const value = Reflect.get(own, key) ?? Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

interface Context {
  services: Services;
  project: ProjectRef | null;
  git: Repository | undefined;
}

/**
 * Executes an operation; on a mirror the upstream is looked at before, and pushed to after a command that moved branches. What the command
 * answers carries `sync` then: how the branch stands to the upstream.
 */
export async function onMirror(
  operation: AnyOperation,
  context: Context,
  execute: () => Promise<unknown>,
): Promise<unknown> {
  const { services, project, git } = context;
  if (!project?.is_mirror || !git || operation.local || !/_studio$/.test(String(operation.permission)))
    return execute();
  // A transaction must not wait for another host, and no branch moves in it.
  const isWrite = operation.kind === 'command' && operation.effect === 'external';
  await services.upstreams.freshen(services, project, isWrite ? 'write' : 'read');
  if (!isWrite) return execute();
  const moved = new Set<string>();
  context.git = noteMoves(git, moved);
  const result = await execute();
  if (moved.size === 0) return result;
  await services.upstreams.publish(services, project, moved);
  const [sync] = (await syncOf({ git, services, project }, [...moved].slice(0, 1)).catch(() => null)) ?? [];
  return sync && isRecord(result) ? { ...result, sync } : result;
}
