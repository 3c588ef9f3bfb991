import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { eventSubject } from '../../ports/event-feed.ts';
import { branchSubject, storedMove } from './branch-moves.ts';

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

export const readBranchMoves = projectOperation({
  name: 'studio.readBranchMoves',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Follow the commits a branch moves to',
  input: z.object({
    branch: z.string().max(1000).optional().describe('Default: the default branch'),
    after: z.int().min(0).optional().describe('Position to go on behind; absent: from now on'),
  }),
  output: z.object({
    subject: eventSubject,
    moves: z.array(z.object({ position: z.int(), move: branchMove })),
    position: z.int(),
    missed: z.boolean(),
  }),
  async execute({ em, git, project, services }, { branch: asked, after }) {
    const branch = asked ?? (await git.defaultBranch());
    if (after === undefined && (await git.head(branch)) === null && asked !== undefined) {
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
