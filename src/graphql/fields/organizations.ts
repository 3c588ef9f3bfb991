/** The caller, organisations with what belongs to them as a whole, and their projects. */
import type { z } from 'zod';
import { listAudit } from '../../domain/audit/audit.operations.ts';
import { getMe } from '../../domain/identity/me.operations.ts';
import { createToken, listTokens, revokeToken } from '../../domain/identity/tokens.operations.ts';
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  locateOrganization,
  updateOrganization,
} from '../../domain/organizations/organizations.operations.ts';
import {
  createProject,
  deleteProject,
  getProject,
  listProjects,
  locateProject,
  restoreProject,
  updateProject,
} from '../../domain/projects/projects.operations.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { AnyOperation } from '../../kernel/operation.ts';
import type { GraphqlContext } from '../context.ts';
import { located, type Place } from '../place.ts';
import type { Selects } from '../selected-fields.ts';
import { edge, field, mutation, place, type Row } from '../table.ts';

/**
 * Finds an object of a `place`. It is read at once where fields of its record are selected, which then are plain values; for a caller who may
 * only locate it, each of these fields is refused on its own.
 */
function locate(find: AnyOperation, read: AnyOperation) {
  const fields = Object.keys((read.output as z.ZodObject).shape);
  return async (_root: unknown, at: Place, context: GraphqlContext, selects: Selects): Promise<object> => {
    if (selects(...fields)) {
      try {
        return (await context.run(read, at)) as object;
      } catch (error) {
        if (!(error instanceof DomainError && error.code === 'forbidden')) throw error;
      }
    }
    await context.run(find, at);
    return located(at);
  };
}

export const organizations: readonly Row[] = [
  field('Query', 'me', getMe),

  place('Organization', getOrganization, { organization: 'machine_name' }),
  field('Query', 'organizations', listOrganizations),
  edge('Query', 'organization', 'Organization', {
    description: 'An organisation and what lies below it',
    scope: 'organization',
    resolve: locate(locateOrganization, getOrganization),
  }),
  field('Organization', 'audit', listAudit),
  field('Organization', 'projects', listProjects),
  field('Organization', 'tokens', listTokens),
  mutation('createOrganization', createOrganization),
  mutation('updateOrganization', updateOrganization),
  mutation('createToken', createToken),
  mutation('revokeToken', revokeToken),

  place('Project', getProject, { project: 'machine_name' }),
  edge('Query', 'project', 'Project', {
    description: 'A project and what lies below it',
    scope: 'project',
    resolve: locate(locateProject, getProject),
  }),
  mutation('createProject', createProject),
  mutation('updateProject', updateProject),
  mutation('deleteProject', deleteProject, { payload: 'project' }),
  mutation('restoreProject', restoreProject),
];
