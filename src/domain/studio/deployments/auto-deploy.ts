import type { Commit } from '../../../ports/git-records.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { holdProject, loadProject } from '../../projects/project-ref.ts';
import type { Services } from '../../services.ts';
import { Environment } from '../environments/environment.entity.ts';
import type { BranchFollower } from '../repository/branches-moved.ts';
import type { Trigger } from './deployment.entity.ts';
import { queueDeployment } from './queue-deployment.ts';

/** What has brought a commit, told by who made it: a commit of ours names us as its committer. */
function triggerOf({ settings }: Services, { committer, parents }: Commit): Trigger {
  if (!committer.email.endsWith(`@${settings.public_host}`)) return 'push';
  return parents.length > 1 ? 'merge' : 'commit';
}

/** Queues a deployment of the branch's head, unless the environment has taken that commit before. */
async function takeHead(services: Services, project: Pick<ProjectRef, 'id' | 'uuid'>, id: number): Promise<void> {
  const git = services.git.open(project.uuid);
  await services.orm.em.fork().transactional(async (em) => {
    await holdProject(em, project.id);
    const environment = await em.findOne(Environment, { id, auto_deploy: true });
    const head = environment && (await git.head(environment.branch));
    if (!head || head === environment.followed_sha) return;
    environment.followed_sha = head;
    await em.flush();
    const commit = await git.commit(head);
    await queueDeployment({ em, services, project }, environment, {
      commit,
      trigger: triggerOf(services, commit),
    });
  });
}

/** Deploys what has come to branches, to the environments that follow them. */
export const deployMoved: BranchFollower = async (services, project, branches) => {
  const where = { project_id: project.id, auto_deploy: true, branch: { $in: [...branches] } };
  const environments = await services.orm.em.fork().find(Environment, where, { orderBy: { id: 'asc' } });
  for (const { id } of environments) await takeHead(services, project, id);
};

/** Deploys what came to branches while nobody followed: a process may have died between a commit and its followers. */
export async function deployMissed(services: Services): Promise<void> {
  const environments = await services.orm.em.fork().find(Environment, { auto_deploy: true });
  for (const [id, of] of Map.groupBy(environments, ({ project_id }) => project_id)) {
    try {
      const project = await loadProject(services.orm.em.fork(), { id });
      if (!project) continue;
      const git = services.git.open(project.uuid);
      for (const environment of of) {
        const head = await git.head(environment.branch);
        if (head && head !== environment.followed_sha) await takeHead(services, project, environment.id);
      }
    } catch (err) {
      services.log.warn({ err, project: id }, 'branches of a project not looked at for deployments');
    }
  }
}
