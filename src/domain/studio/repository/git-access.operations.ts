import { z } from 'zod';
import { projectOperation } from '../../operation.ts';

const access = z.object({ repository: z.uuid() });

/** A git client's fetch or clone: what it needs is the right to read. */
export const fetchRepository = projectOperation({
  name: 'studio.fetchRepository',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Fetch or clone with a git client',
  input: z.object({}),
  output: access,
  execute: async ({ project }) => ({ repository: project.uuid }),
});

/** A git client's push. */
export const pushRepository = projectOperation({
  name: 'studio.pushRepository',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  summary: 'Push with a git client',
  input: z.object({}),
  output: access,
  audit: () => ({ type: 'repository', id: null }),
  execute: async ({ project }) => ({ repository: project.uuid }),
});
