import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { executeBound } from '../../../kernel/sql.ts';
import { type EventSubject, eventSubject } from '../../../ports/event-feed.ts';
import type { Repository } from '../../../ports/git.ts';
import { studioOperation } from '../studio-operation.ts';
import { changeChannel } from '../watch/change-log.ts';
import type { BranchFollower } from './branches-moved.ts';

/** Paths one event names; with more of them, subscribers better read the branch anew. */
const mostPaths = 1000;

/** What an event of a branch keeps. */
const storedMove = z.object({ sha: z.string().nullable(), paths: z.array(z.string()).nullable() });

/** The events of a branch. */
export const branchSubject = (project_id: number, branch: string): EventSubject => ({
  project_id,
  topic: `branch ${branch}`,
});

/** Paths that differ between two commits, both names of a renamed file; null: too many, or one of the commits is gone. */
async function changedPaths(git: Repository, before: string, after: string): Promise<string[] | null> {
  try {
    const [from, to] = await Promise.all([git.snapshot(before), git.snapshot(after)]);
    const changes = await to.changesSince(from.tree, mostPaths);
    return changes?.map(({ path }) => path) ?? null;
  } catch {
    return null;
  }
}

/** Announces moved branches, and the open pull requests that are about them, to the change logs of all processes. */
const announceSql = `
  select announce_pull(pull) from pull
  where project_id = $1 and state = 'open' and (head_branch = any($2) or base_branch = any($2))
  union all
  select pg_notify('${changeChannel}', json_build_object('kind', 'branch', 'project', $1::integer, 'branch', branch)::text)
  from unnest($2::text[]) as branch`;

/** Publishes the moves of branches to subscribers of each and of the project, whichever process moved them. */
export const publishMoves: BranchFollower = async (services, project, branches) => {
  const git = services.git.open(project.uuid);
  for (const branch of branches) {
    const publish = async (last: unknown) => {
      const before = storedMove.safeParse(last).data?.sha;
      // Read under the subject's lock: what another process publishes later is not older than this.
      const sha = await git.head(branch);
      if (sha === before || (sha === null && before === undefined)) return undefined;
      return { sha, paths: before && sha ? await changedPaths(git, before, sha) : null };
    };
    await services.orm.em
      .fork()
      .transactional((em) => services.events.publish(em, branchSubject(project.id, branch), publish));
  }
  await executeBound(services.orm.em.fork(), announceSql, [project.id, [...branches]]);
};

/** Where a branch has moved to. */
export const branchMove = z
  .object({
    branch: z.string(),
    sha: z.string().nullable().describe('Commit the branch is at; null: it was deleted'),
    paths: z
      .array(z.string())
      .nullable()
      .describe('Files that differ from what the event before left; null: not known, or more than 1,000'),
  })
  .meta({ id: 'BranchMove' });

export const readBranchMoves = studioOperation({
  name: 'studio.readBranchMoves',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Follow the commits a branch moves to',
  input: z.object({
    branch: z.string().max(1000).optional().describe('Default: the default branch'),
    after: z.int().min(0).optional().describe('Position to go on behind; absent: from now on'),
  }),
  output: z.object({
    subject: eventSubject,
    moves: z.array(z.object({ position: z.int(), move: branchMove })),
    position: z.int(),
    more: z.boolean(),
    missed: z.boolean(),
  }),
  async execute({ em, git, project, services }, { branch: requested, after }) {
    const branch = requested ?? (await git.defaultBranch());
    if (after === undefined && (await git.head(branch)) === null && requested !== undefined) {
      throw new DomainError('not_found', `branch: ${branch.slice(0, 200)} does not exist`);
    }
    const subject = branchSubject(project.id, branch);
    const { events, ...at } = await services.events.read(em, subject, after ?? null);
    const moves = events.map(({ seq, data }) => ({
      position: seq,
      move: { branch, ...storedMove.parse(data) },
    }));
    return { subject, moves, ...at };
  },
});
