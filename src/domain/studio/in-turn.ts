import { isGrantable, requirePermission } from '../../kernel/actor.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { AnyOperation, Extension } from '../../kernel/operation.ts';
import { replacing } from '../../lib/objects.ts';
import type { CommitRequest } from '../../ports/git-writes.ts';
import type { ProjectContext } from '../projects/operation.ts';
import { isProtected, movesByPulls } from './repository/branch-rules.ts';

/** The permissions that an operation needs, or may need. */
type Needs = Pick<AnyOperation, 'permission' | 'also'>;

/**
 * Holds a write against the rights and settings of the moment its turn comes.
 * @param branch that it commits to directly, or by merging; null: it does neither
 * @throws DomainError as `run()` does, and `branch_protected`
 */
export async function checkTurn<Context extends ProjectContext>(
  { permission, also }: Needs,
  before: Context,
  branch: string | null,
): Promise<Context> {
  const now = await before.renewed();
  for (const name of [permission, ...Object.keys(also ?? {})])
    if (isGrantable(name) && before.grant.permissions.has(name)) requirePermission(now.grant, name);
  if (branch !== null && !movesByPulls(before.project, branch) && movesByPulls(now.project, branch))
    throw new DomainError('branch_protected', `${branch} has become protected; it moves by merging pull requests`);
  return now;
}

/**
 * Holds the deletion of a branch against the same, and against protection.
 * @throws DomainError as `run()` does, and `protected`
 */
async function checkDeletion(operation: AnyOperation, before: ProjectContext, branch: string): Promise<void> {
  const now = await checkTurn(operation, before, null);
  if (isProtected(now.project, branch))
    throw new DomainError('protected', `${branch} has become protected; it cannot be deleted`);
}

/**
 * Commands check again when their turn to write has come, and when it is planned: hundreds of writers can have been in front of them, a plan can
 * take minutes, and the rights of the caller have ended meanwhile, or the branch become protected.
 */
export const inTurn: Extension<'project', object, Pick<ProjectContext, 'project' | 'organization' | 'renewed'>> = {
  around(operation, context, execute) {
    if (operation.kind !== 'command') return execute();
    const { git } = context;
    const check = (branch: string | null) => checkTurn(operation, context, branch);
    const turned =
      <T>(branch: string | null, { plan }: Pick<CommitRequest<T>, 'plan'>): CommitRequest<T>['plan'] =>
      async (...head) => {
        await check(branch);
        const planned = await plan(...head);
        await check(branch);
        return planned;
      };
    context.git = replacing(git, {
      write: (request) => git.write({ ...request, plan: turned(request.branch, request) }),
      writeOnto: (parent, request) => git.writeOnto(parent, { ...request, plan: turned(null, request) }),
      deleteBranch: (name, expected, ownCheck) =>
        git.deleteBranch(name, expected, async () => {
          await checkDeletion(operation, context, name);
          await ownCheck?.();
        }),
    });
    return execute();
  },
};
