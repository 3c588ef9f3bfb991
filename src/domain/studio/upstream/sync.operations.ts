import { DomainError } from '../../errors.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { checkRefName } from '../ref-name.ts';
import { syncOf, syncOfAll } from './sync-record.ts';
import { UpstreamBranch } from './upstream.entity.ts';
import { type Divergence, type Sync, sync, syncRequest } from './upstream.schema.ts';

/** @throws DomainError `upstream_diverged` with what is left to settle */
function refuseDiverged(diverged: readonly Divergence[]): never {
  const names = diverged.map(({ branch }) => branch).join(', ');
  throw new DomainError('upstream_diverged', `${names}: people must bring the two sides together; see details`, {
    details: { diverged, conflicts: diverged.flatMap(({ conflicts }) => conflicts) },
  });
}

/** Whether a branch is, or was, on one of the two sides. */
async function isKnown({ git, em, project }: ProjectContext, name: string): Promise<boolean> {
  if ((await git.head(name)) ?? (await git.upstreamHead(name))) return true;
  return (await em.count(UpstreamBranch, { project_id: project.id, name })) > 0;
}

async function standing(context: ProjectContext, branch: string | undefined): Promise<Sync> {
  const all = await syncOfAll(context);
  if (!all) throw new DomainError('not_found', 'This project has no upstream');
  const left = all.diverged.filter((found) => branch === undefined || found.branch === branch);
  if (left.length > 0) refuseDiverged(left);
  const [one] = branch === undefined ? [all.sync] : ((await syncOf(context, [branch])) ?? []);
  return one ?? all.sync;
}

export const syncRepository = projectOperation({
  name: 'studio.syncRepository',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    manage_studio: 'when resolutions write files outside collections and media',
    delete_studio: 'when resolutions delete what both sides have',
  },
  local: true,
  summary: 'Fetch from the upstream, merge and push; resolve diverged branches',
  input: syncRequest,
  output: sync,
  audit: ({ branch }, _output, { project }) => ({ type: 'repository', id: branch ?? project }),
  async execute(context, { branch, resolutions = [] }) {
    const { services, project, actor, require, signal } = context;
    if (!project.is_mirror) throw new DomainError('not_found', 'This project has no upstream');
    if (branch !== undefined && !(await isKnown(context, checkRefName('branch', branch))))
      throw new DomainError('not_found', `branch: ${branch} is neither here nor, as far as was fetched, there`);
    try {
      await services.upstreams.run(services, project, {
        fetch: true,
        push: 'always',
        branches: branch === undefined ? null : [branch],
        // To name the branch is to ask for what nobody else may decide.
        resolutions: branch === undefined && resolutions.length === 0 ? null : resolutions,
        author: actor.author,
        require,
        signal,
      });
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'merge_conflict') throw error;
      throw new DomainError('upstream_diverged', error.message, { details: error.details ?? {} });
    }
    return standing(context, branch);
  },
});
