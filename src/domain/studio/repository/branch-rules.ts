import type { z } from 'zod';
import { requirePermission } from '../../../kernel/actor.ts';
import { DomainError } from '../../../kernel/errors.ts';
import type { Conditions } from '../../../kernel/operation.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { compileGlob } from '../schema/glob.ts';
import type { StudioContext } from '../studio.ts';
import { writableBranch } from './refs.ts';
import type { directCommit } from './repository.schema.ts';

type Settings = Pick<ProjectRef, 'settings'>;

/** Whether a branch can neither be deleted nor moved by force. */
export function isProtected({ settings }: Settings, branch: string): boolean {
  return settings.protected_branches.some((pattern) => compileGlob(pattern)?.matches(branch) ?? false);
}

/** Whether a branch moves by pull requests alone. */
export const movesByPulls = (project: Settings, branch: string): boolean =>
  project.settings.require_pull && isProtected(project, branch);

/** @throws DomainError `branch_protected` for a branch that only pull requests move. */
export function checkDirectWrite(project: Settings, branch: string): void {
  if (movesByPulls(project, branch))
    throw new DomainError('branch_protected', `${branch} is protected; it moves by merging pull requests`);
}

/**
 * Holds the name of a new branch against the protection of those that are there: what the branch begins with was brought by no pull request.
 * @throws DomainError `branch_protected`
 */
export function checkNewBranch({ project, grant }: Pick<StudioContext, 'project' | 'grant'>, branch: string): void {
  if (!movesByPulls(project, branch) || grant.permissions.has('manage_studio')) return;
  throw new DomainError('branch_protected', `${branch} is protected; making it needs the permission manage_studio`);
}

/** Whether a caller may commit to a branch without a pull request: what refuses their writes says so. */
export function canCommit(
  { project, grant }: Pick<StudioContext, 'project' | 'grant'>,
  branch: string,
): z.output<typeof directCommit> {
  try {
    requirePermission(grant, 'edit_studio');
    checkDirectWrite(project, branch);
    return { allowed: true };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { allowed: false, reason: error.code, message: error.message };
  }
}

/**
 * The branch a write goes to, which can take it and may be written to directly.
 * @throws DomainError `not_found`, `branch_protected`
 */
export async function directBranch(
  { git, project }: Pick<StudioContext, 'git' | 'project'>,
  branch: string | undefined,
): Promise<string> {
  const wanted = await writableBranch(git, branch);
  checkDirectWrite(project, wanted);
  return wanted;
}

/** @throws DomainError `precondition_required` when the project wants to know which version is changed, and the caller does not say. */
export function checkPrecondition({ settings }: Settings, { if_match }: Conditions, sha: string | undefined): void {
  if (settings.require_preconditions && if_match === undefined && sha === undefined)
    throw new DomainError('precondition_required', 'If-Match: must name the version this changes, or sha must');
}
