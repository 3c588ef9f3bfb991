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

/** What a git client asks before a push: which refs are there. Nothing happens yet. */
export const preparePush = projectOperation({
  name: 'studio.preparePush',
  kind: 'query',
  permission: 'edit_studio',
  summary: 'Read the refs before a push with a git client',
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
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  execute: async ({ project }) => ({ repository: project.uuid }),
});
