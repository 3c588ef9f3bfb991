/** The caller, people who sign in, organisations with what belongs to them as a whole, and their projects. */
import { z } from 'zod';
import { listAudit } from '../../domain/audit/audit.operations.ts';
import { getMe } from '../../domain/identity/me.operations.ts';
import { createToken, listTokens, revokeToken } from '../../domain/identity/tokens.operations.ts';
import {
  inviteMember,
  listMembers,
  removeMember,
  updateMember,
} from '../../domain/organizations/members.operations.ts';
import {
  createOrganization,
  deleteOrganization,
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
import {
  changePassword,
  endOtherSessions,
  endSession,
  listSessions,
  updateAccount,
  updatePreferences,
} from '../../domain/users/account.operations.ts';
import { listIdentities, unlinkIdentity } from '../../domain/users/openid.operations.ts';
import { getInstance, setup } from '../../domain/users/setup.operations.ts';
import { confirmPassword, signIn, signOut } from '../../domain/users/sign-in.operations.ts';
import {
  acceptInvitation,
  createResetLink,
  createUser,
  disableUser,
  listUsers,
  resetPassword,
} from '../../domain/users/users.operations.ts';
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
  field('Query', 'instance', getInstance),
  mutation('setup', setup),
  mutation('signIn', signIn),
  mutation('signOut', signOut),
  mutation('confirmPassword', confirmPassword),
  mutation('acceptInvitation', acceptInvitation),
  mutation('resetPassword', resetPassword),

  field('Query', 'me', getMe),
  field('Query', 'sessions', listSessions),
  mutation('updateAccount', updateAccount),
  mutation('updatePreferences', updatePreferences),
  mutation('changePassword', changePassword),
  mutation('endSession', endSession),
  mutation('endOtherSessions', endOtherSessions),

  field('Query', 'identities', listIdentities),
  mutation('unlinkIdentity', unlinkIdentity),

  field('Query', 'users', listUsers),
  mutation('createUser', createUser),
  mutation('disableUser', disableUser),
  mutation('createResetLink', createResetLink),

  place('Organization', getOrganization, { organization: 'machine_name' }),
  field('Query', 'organizations', listOrganizations),
  edge('Query', 'organization', 'Organization', {
    description: 'An organisation and what lies below it',
    scope: 'organization',
    resolve: locate(locateOrganization, getOrganization),
  }),
  field('Organization', 'audit', listAudit),
  field('Organization', 'members', listMembers),
  field('Organization', 'projects', listProjects),
  field('Organization', 'tokens', listTokens),
  mutation('createOrganization', createOrganization),
  mutation('updateOrganization', updateOrganization),
  mutation('deleteOrganization', deleteOrganization, { payload: 'organization' }),
  mutation('inviteMember', inviteMember),
  mutation('updateMember', updateMember, { numbers: { member: z.int32() } }),
  mutation('removeMember', removeMember, { payload: 'member', numbers: { member: z.int32() } }),
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
