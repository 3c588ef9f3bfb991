import { z } from 'zod';
import { publicOperation } from '../../kernel/operation.ts';
import { type ProjectContext, projectOperation } from '../projects/operation.ts';
import { Project } from '../projects/project.entity.ts';
import { Pull, pullRef } from '../studio/pulls/pull.entity.ts';

/** What is wrong, and what a person who runs the server can do about it. */
const problem = z.object({
  code: z.enum([
    'repository_missing',
    'repository_damaged',
    'pull_ref_missing',
    'commit_missing',
    'repository_unknown',
    'repository_unfinished',
    'key_missing',
    'key_unreadable',
  ]),
  message: z.string(),
  advice: z.string(),
});

export type Problem = z.output<typeof problem>;

const findings = z.object({ problems: z.array(problem) });

/** Looks for repositories that belong to no project, deleted ones included: left by processes that died. Removes nothing. */
export const findRemains = publicOperation({
  name: 'backups.findRemains',
  kind: 'query',
  permission: 'instance_admin',
  summary: 'Find repositories in the data directory that belong to no project',
  input: z.object({}),
  output: findings,
  async execute({ em, services }) {
    // In this order, so that a project made meanwhile is not taken for remains.
    const { ids, remains } = await services.git.list();
    const rows = await em.find(Project, {}, { fields: ['uuid'], disableIdentityMap: true });
    const known = new Set(rows.map(({ uuid }) => uuid));
    const unknown = ids.filter((id) => !known.has(id));
    const advice = 'when no restore or creation of a project is under way, it can be deleted';
    const problems: Problem[] = [
      ...unknown.map((id) => ({
        code: 'repository_unknown' as const,
        message: `git/${id}.git has no project`,
        advice,
      })),
      ...remains.map((name) => ({
        code: 'repository_unfinished' as const,
        message: `git/${name} is unfinished`,
        advice,
      })),
    ];
    return { problems };
  },
});

/** What fetching again brings back is what a damaged or missing file held; a push would send nothing the refs already name. */
const bringBack = (uuid: string) =>
  `restore a backup as a new project; or remove the damaged file and, with a clone that is whole: git --git-dir git/${uuid}.git fetch --refetch <clone>`;

const withoutRepository = (uuid: string): Problem => ({
  code: 'repository_missing',
  message: `its repository git/${uuid}.git is not there`,
  advice: 'delete this project and restore a backup',
});

/** Looks whether all a project consists of is there and whole. Changes nothing. */
export const checkProject = projectOperation({
  name: 'backups.checkProject',
  kind: 'query',
  permission: 'instance_admin',
  summary: 'Check the integrity of a project: its repository, and that rows and refs agree',
  input: z.object({}),
  output: findings,
  async execute(context) {
    const { services, project, signal, onPhase } = context;
    if (!(await services.git.exists(project.uuid))) return { problems: [withoutRepository(project.uuid)] };
    onPhase('Checking objects');
    const { problems } = await services.git.fsck(project.uuid, signal);
    const advice = bringBack(project.uuid);
    const damages = problems.map((message): Problem => ({ code: 'repository_damaged', message, advice }));
    onPhase('Checking pull requests');
    return { problems: [...damages, ...(await checkPulls(context))] };
  },
});

async function checkPulls({ em, git, project }: ProjectContext): Promise<Problem[]> {
  const rows = await em.find(
    Pull,
    { project_id: project.id },
    { orderBy: { number: 'asc' }, disableIdentityMap: true },
  );
  const refs = new Set((await git.refsBelow('refs/pull')).map(({ name }) => name));
  const lost = rows.filter(({ state, number }) => state === 'open' && !refs.has(pullRef(number)));
  const named = rows.filter(({ state }) => state !== 'open').flatMap((row) => commitsOf(row));
  const sizes = await git.sizes(named.map(({ oid }) => oid));
  const missing = named.filter((_, at) => sizes[at] === null);
  return [
    ...lost.map(({ number }) => ({
      code: 'pull_ref_missing' as const,
      message: `pull request ${number} is open and ${pullRef(number)} is not there`,
      advice: 'close the pull request and open it again',
    })),
    ...missing.map(({ number, oid }) => ({
      code: 'commit_missing' as const,
      message: `pull request ${number} names commit ${oid}, which is not there`,
      advice: 'restore a backup as a new project',
    })),
  ];
}

/** The commits a closed or merged pull request is shown by; of an open one the branches count. */
function commitsOf({ number, head_sha, base_sha, merge_commit_sha }: Pull): { number: number; oid: string }[] {
  return [head_sha, base_sha, merge_commit_sha].flatMap((oid) => (oid ? [{ number, oid }] : []));
}
