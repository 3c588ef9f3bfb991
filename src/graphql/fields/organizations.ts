/** Who asks, organisations with what belongs to them as a whole, and their projects. */
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
import type { GraphqlContext } from '../context.ts';
import { located } from '../place.ts';
import { edge, field, mutation, place, type Row } from '../table.ts';

export const organizations: readonly Row[] = [
  field('Query', 'me', getMe),

  place('Organization', getOrganization, { organization: 'machine_name' }),
  field('Query', 'organizations', listOrganizations),
  edge('Query', 'organization', 'Organization', {
    description: 'An organisation and what lies below it',
    scope: 'organization',
    async resolve(_root, at, context: GraphqlContext) {
      await context.run(locateOrganization, at);
      return located(at);
    },
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
    async resolve(_root, at, context: GraphqlContext) {
      await context.run(locateProject, at);
      return located(at);
    },
  }),
  mutation('createProject', createProject),
  mutation('updateProject', updateProject),
  mutation('deleteProject', deleteProject, { payload: 'project' }),
  mutation('restoreProject', restoreProject),
];
