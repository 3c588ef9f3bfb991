import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { namesOid } from '../entries/write-entry.ts';
import { deleteWithPulls, openPullsFrom } from '../pulls/open-pulls.ts';
import { checkRefName } from '../ref-name.ts';
import { isProtected } from './branch-rules.ts';

export const deleteBranch = projectOperation({
  name: 'studio.deleteBranch',
  kind: 'command',
  effect: 'external',
  permission: 'delete_studio',
  destructive: true,
  conditional: true,
  summary: 'Delete a branch',
  input: z.object({
    name: z.string(),
    force: z.boolean().optional().describe('Also when it is the head of open pull requests, which it closes'),
  }),
  output: z.null(),
  audit: ({ name }) => ({ type: 'branch', id: name }),
  async execute(context, { name, force }) {
    const { git, project, conditions } = context;
    const oid = await git.head(checkRefName('name', name));
    if (!oid) throw new DomainError('not_found', `name: branch ${name} does not exist`);
    if (conditions.if_match !== undefined && !namesOid(conditions.if_match, oid)) {
      const details = { current_sha: oid };
      throw new DomainError('precondition_failed', 'If-Match: the branch has moved since it was read', { details });
    }
    if (name === (await git.defaultBranch())) throw new DomainError('protected', `name: ${name} is the default branch`);
    if (isProtected(project, name)) throw new DomainError('protected', `name: ${name} is a protected branch`);
    const pulls = await openPullsFrom(context, name);
    if (pulls.length > 0 && !force) {
      throw new DomainError(
        'in_use',
        `name: ${name} is the head of an open pull request; close it first, or use force`,
        {
          details: { pulls: pulls.map(({ number }) => number) },
        },
      );
    }
    await deleteWithPulls(context, name, oid);
    return null;
  },
});
