import type { Services } from '../../../kernel/services.ts';
import type { Commit } from '../../../ports/git-records.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { holdProject, loadProject } from '../../projects/project-ref.ts';
import { Environment } from '../environments/environment.entity.ts';
import type { BranchFollower } from '../repository/branches-moved.ts';
import type { StudioServices } from '../studio.ts';
import { Deployment, type Trigger } from './deployment.entity.ts';
import { notify, queueDeployment, wake } from './queue-deployment.ts';
import { recoverDeployments } from './run/work.ts';
import { conclude, concludeQueued } from './transitions.ts';

/** What has brought a commit, by its committer: commits made here name this server. */
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
  const environments = await services.orm.em
    .fork()
    .find(Environment, where, { fields: ['id'], orderBy: { id: 'asc' } });
  for (const { id } of environments) await takeHead(services, project, id);
};

/** Deploys commits without a deployment: a process may have died between a commit and what follows it. */
async function deployMissed(services: Services): Promise<void> {
  const environments = await services.orm.em.fork().find(
    Environment,
    { auto_deploy: true },
    {
      fields: ['project_id', 'branch', 'followed_sha'],
    },
  );
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

/** How long a request may wait to be sent before it is sent again, milliseconds: its job was lost, or never put in. */
const sendAgainAfter = 60_000;

/** Ends deployments of external providers without a report for longer than their environment allows. */
export async function timeOutReports(services: Services): Promise<void> {
  const em = services.orm.em.fork();
  const now = services.clock.now();
  const open = await em.find(Deployment, { status: { $ne: 'completed' } }, { disableIdentityMap: true });
  for (const row of open.filter(({ settings }) => settings.provider === 'webhook')) {
    const silent = now.getTime() - (row.heartbeat_at ?? row.created_at).getTime();
    const ending = { conclusion: 'failure', reason: 'provider_timeout', at: now } as const;
    if (silent > row.settings.timeout_seconds * 1000)
      await em.transactional(async (within) => {
        // Held and looked at again: a report may have come meanwhile.
        const held = 'select 1 from deployment where id = ? and coalesce(heartbeat_at, created_at) <= ? for update';
        const lastReport = row.heartbeat_at ?? row.created_at;
        if ((await within.execute<unknown[]>(held, [row.id, lastReport])).length === 0) return;
        if (!(await concludeQueued(within, row.id, ending))) await conclude(within, row, ending);
      });
    // One that lies so far ahead was queued before the clock was set back.
    else if (!row.report_token_hash && Math.abs(silent) > sendAgainAfter)
      await em.transactional((within) => notify({ em: within, services }, row, 'deployment.requested'));
  }
}

/** What is looked at every minute: what a crash, a lost job or a silent provider has left undone. */
export async function tickDeployments(services: StudioServices): Promise<void> {
  await recoverDeployments(services);
  await timeOutReports(services);
  await deployMissed(services);
  const em = services.orm.em.fork();
  const waiting = await em.find(Deployment, { status: 'queued' }, { orderBy: { id: 'asc' }, limit: 100 });
  const ours = waiting.find(({ settings }) => settings.provider !== 'webhook');
  if (ours) await em.transactional((within) => wake({ em: within, services }, ours));
}
