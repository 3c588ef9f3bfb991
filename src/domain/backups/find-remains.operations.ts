import { z } from 'zod';
import { publicOperation } from '../operation.ts';
import { Project } from '../projects/project.entity.ts';
import { findings, type Problem } from './check.schema.ts';

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
