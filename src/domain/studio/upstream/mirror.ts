import type { Extension } from '../../../kernel/operation.ts';
import { isRecord, replacing } from '../../../lib/objects.ts';
import type { Repository } from '../../../ports/git.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import type { StudioRuntime } from '../studio.ts';
import { syncOf } from './sync-record.ts';

/** The same repository, noting which branches (short names) are moved through it. */
function noteMoves(git: Repository, moved: Set<string>): Repository {
  return replacing(git, {
    async write(request) {
      const committed = await git.write(request);
      if (committed.commit) moved.add(request.branch);
      return committed;
    },
    async createBranch(name, oid) {
      await git.createBranch(name, oid);
      moved.add(name);
    },
    async deleteBranch(name, ...rest) {
      await git.deleteBranch(name, ...rest);
      moved.add(name);
    },
  });
}

/**
 * On a mirror the upstream is looked at before an operation, and pushed to after a command that moved branches. What such a command answers
 * carries `sync` then: how the branch stands to the upstream.
 */
export const mirror: Extension<'project', object, { project: ProjectRef; studio: StudioRuntime }> = {
  async around(operation, context, execute) {
    const { services, project, git, studio } = context;
    if (!project.is_mirror) return execute();
    // A transaction must not wait for another host, and no branch moves in it.
    const isWrite = operation.kind === 'command' && operation.effect === 'external';
    await studio.upstreams.freshen(project, isWrite ? 'write' : 'read');
    if (!isWrite) return execute();
    const moved = new Set<string>();
    context.git = noteMoves(git, moved);
    const result = await execute();
    if (moved.size === 0) return result;
    await studio.upstreams.publish(project, moved);
    const [sync] =
      (await syncOf({ em: services.orm.em, git, services, project, studio }, [...moved].slice(0, 1)).catch(
        () => null,
      )) ?? [];
    return sync && isRecord(result) ? { ...result, sync } : result;
  },
};
