import { z } from 'zod';

/** What is wrong, and what a person who runs the server can do about it. */
export const problem = z.object({
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

export const findings = z.object({ problems: z.array(problem) });
