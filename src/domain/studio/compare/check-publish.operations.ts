import { z } from 'zod';
import { commitNamed } from '../repository/refs.ts';
import { studioOperation } from '../studio-operation.ts';
import { checksBetween, publishChecks, weightOf } from './publish-checks.ts';

export const checkPublish = studioOperation({
  name: 'studio.checkPublish',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Check what merging a head would publish: faults that the base lacks',
  input: z.object({
    base: z
      .string()
      .optional()
      .describe('Branch or full commit id it would be merged into; default: the default branch'),
    head: z.string().describe('Branch or full commit id'),
  }),
  output: publishChecks,
  async execute(context, { base, head }) {
    const { git } = context;
    const into = await commitNamed(git, 'base', base ?? (await git.defaultBranch()));
    const checks = await checksBetween(context, into, await commitNamed(git, 'head', head));
    await context.room(weightOf(checks));
    return checks;
  },
});
