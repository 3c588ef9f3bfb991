import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import { publicOperation } from '../../kernel/operation.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { timestamp } from '../../kernel/shapes.ts';
import { orTaken } from '../../kernel/sql.ts';
import { userChanged } from '../identity/grant-cache.ts';
import { Member } from '../organizations/member.entity.ts';
import { holdOrganization } from '../organizations/organization.entity.ts';
import { endResetLink, endResetLinksIn, findLink, makeLink, OneTimeLink, redeemLink } from './one-time-link.ts';
import { checkPassword, givenPassword, hashPassword, newPassword } from './passwords.ts';
import { endSessions, holdAccount, requireSameOrigin, startSession } from './sessions.ts';
import { tryPassword } from './throttle.ts';
import { User, UserIdentity } from './user.entity.ts';
import { email, findUser, personName, presentUser, signedIn, user } from './user.ts';

export const listUsers = publicOperation({
  name: 'identity.listUsers',
  kind: 'query',
  permission: 'instance_admin',
  summary: 'List the accounts of this instance',
  input: z.object({ ...pageInput }),
  output: pageOf(user),
  async execute({ em }, input) {
    const { rows, asPage } = await findPage(em, input, User, {}, { orderBy: { name: 'asc', id: 'asc' } });
    return asPage(rows.map(presentUser));
  },
});

export const createUser = publicOperation({
  name: 'identity.createUser',
  kind: 'command',
  permission: 'instance_admin',
  freshGrant: true,
  recentProof: true,
  notInSteps: true,
  summary: 'Create an account, and a link by which its person sets a password',
  input: z.object({ email, name: personName, instance_admin: z.boolean().default(false) }),
  output: z
    .object({ user, reset_url: z.string().describe('Shown here only'), expires_at: timestamp })
    .meta({ id: 'CreatedUser' }),
  audit: (_input, output) => ({ type: 'user', id: output ? String(output.user.id) : null }),
  async execute({ em, services }, draft) {
    const row = em.create(User, { ...draft, preferences: {}, created_at: services.clock.now() });
    await orTaken('email', `${draft.email} has an account already`, () => em.flush());
    const { url, expires_at } = await makeLink(em, services, 'reset', { user_id: row.id });
    return { user: presentUser(row), reset_url: url, expires_at };
  },
});

const userId = z.int32().min(1);

/** Ends the links that a person may have made for others. */
async function endLinksBy(em: EntityManager, { id, instance_admin }: User): Promise<void> {
  if (instance_admin) return void (await em.nativeDelete(OneTimeLink, { kind: 'reset' }));
  const owned = await em.find(Member, { user_id: id, role: 'owner' });
  await endResetLinksIn(
    em,
    owned.map(({ organization_id }) => organization_id),
  );
}

export const disableUser = publicOperation({
  name: 'identity.disableUser',
  kind: 'command',
  permission: 'instance_admin',
  freshGrant: true,
  recentProof: true,
  notInSteps: true,
  summary: 'Keep a person from signing in, and end their sessions; false lets them in again',
  input: z.object({ user_id: userId, disabled: z.boolean().default(true) }),
  output: user,
  audit: ({ user_id }) => ({ type: 'user', id: String(user_id) }),
  async execute({ em, services, actor }, { user_id, disabled }) {
    if (disabled && actor?.user?.id === user_id)
      throw new DomainError('conflict', 'You cannot disable your own account: another administrator has to');
    const row = await findUser(em, user_id);
    row.disabled_at = disabled ? (row.disabled_at ?? services.clock.now()) : null;
    await em.flush();
    await (disabled ? endSessions(em, user_id) : userChanged(em, user_id));
    if (disabled) {
      await endResetLink(em, user_id);
      await endLinksBy(em, row);
    }
    return presentUser(row);
  },
});

export const createResetLink = publicOperation({
  name: 'identity.createResetLink',
  kind: 'command',
  permission: 'signed_in',
  freshGrant: 'in_turn',
  recentProof: true,
  notInSteps: true,
  summary:
    'Make a link by which a person sets a new password: for an administrator of the instance, or an Owner of every organisation the person is in',
  input: z.object({ user_id: userId }),
  output: z
    .object({ reset_url: z.string().describe('Shown here only, good for one use'), expires_at: timestamp })
    .meta({ id: 'ResetLink' }),
  audit: ({ user_id }) => ({ type: 'user', id: String(user_id) }),
  async execute({ em, services, actor }, { user_id }) {
    const members = await em.find(Member, { user_id });
    // An invitation that was not accepted gives no power over the account of who is invited.
    const hasJoined = members.some((row) => row.joined_at);
    const isOwnerOfAll = hasJoined && members.every((row) => actor?.grantFor(row.organization_id)?.owner);
    const row = actor?.instance_admin || isOwnerOfAll ? await findUser(em, user_id) : null;
    if (!row || (row.instance_admin && !actor?.instance_admin))
      throw new DomainError(
        'forbidden',
        'Only an administrator of this instance, or an Owner of every organisation the person is in, may do this',
      );
    const { url, expires_at } = await makeLink(em, services, 'reset', { user_id });
    return { reset_url: url, expires_at };
  },
});

const secret = z.string().describe('What follows # in the link');

export const resetPassword = publicOperation({
  name: 'identity.resetPassword',
  kind: 'command',
  effect: 'external',
  permission: 'public',
  auditsAttempts: true,
  irreversible: true,
  notInSteps: true,
  summary: 'Set a new password with the secret of a link, end all sessions and ties to accounts elsewhere, and sign in',
  input: z.object({ secret, password: newPassword }),
  output: signedIn,
  audit: (_input, output) => ({ type: 'user', id: output ? String(output.user.id) : null }),
  async execute(context, { secret, password }) {
    const { em, services } = context;
    requireSameOrigin(context.browser);
    const { user_id } = await findLink(context, 'reset', secret);
    const row = await findUser(em, user_id ?? 0);
    const { id } = row;
    if (row.disabled_at) throw new DomainError('forbidden', 'This account is disabled: ask an administrator');
    checkPassword('password', password, row);
    const stored = await hashPassword(password);
    await em.transactional(async (fork) => {
      await redeemLink(fork, services, 'reset', secret);
      await holdAccount(fork, row);
      await fork.nativeUpdate(User, { id }, { password: stored });
      await endSessions(fork, id);
      // One that was linked before the reset may belong to somebody else, who could still sign in by it.
      await fork.nativeDelete(UserIdentity, { user_id: id });
      await startSession({ ...context, em: fork }, { id, password: stored });
    });
    services.grants.evict(`user:${id}`);
    return { user: presentUser(row) };
  },
});

/** Whether an account that has no password is in use all the same, or will be: a link that is not its person's own is no proof of who has it. */
async function isTaken(em: EntityManager, { id, instance_admin }: User): Promise<boolean> {
  if (instance_admin) return true;
  const uses = [
    await em.count(UserIdentity, { user_id: id }),
    await em.count(Member, { user_id: id, joined_at: { $ne: null } }),
  ];
  return uses.some((count) => count > 0);
}

export const acceptInvitation = publicOperation({
  name: 'identity.acceptInvitation',
  kind: 'command',
  effect: 'external',
  permission: 'public',
  auditsAttempts: true,
  irreversible: true,
  notInSteps: true,
  summary:
    'Join an organisation with the secret of an invitation: with a name and a password for a new account, with its password for one there is, or signed in to it',
  input: z.object({
    secret,
    name: personName.optional().describe('Of a new account'),
    password: givenPassword.optional().describe('To be set for a new account; otherwise that of the account'),
  }),
  output: signedIn,
  audit: (_input, output) => ({ type: 'user', id: output ? String(output.user.id) : null }),
  async execute(context, { secret, name, password }) {
    const { em, services, actor, address } = context;
    requireSameOrigin(context.browser);
    const { user_id, member_id } = await findLink(context, 'join', secret);
    const row = await findUser(em, user_id ?? 0);
    if (row.disabled_at) throw new DomainError('forbidden', 'This account is disabled: ask an administrator');
    const isSignedIn = actor?.user?.session != null;
    if (isSignedIn && actor?.user?.id !== row.id)
      throw new DomainError('conflict', 'The invitation is for another account: sign out first, then open it again');
    let made: { name: string; password: string } | null = null;
    if (row.password != null && !isSignedIn) {
      if (password === undefined) throw fieldError('invalid_request', 'password', 'is required: of your account');
      if (!(await tryPassword(services, row.email, address, password, row.password)).ok)
        throw fieldError('forbidden', 'password', 'is not that of your account', 'wrong_password');
    } else if (row.password == null && !isSignedIn) {
      // An invitation is in the hands of its sender, who is not to get what others have given to the account.
      if (await isTaken(em, row))
        throw new DomainError(
          'forbidden',
          'This account has no password yet: set one with the link an administrator made for it, then open the invitation again',
        );
      if (name === undefined) throw fieldError('invalid_request', 'name', 'is required');
      const wanted = newPassword.safeParse(password ?? '');
      if (!wanted.success)
        throw fieldError('invalid_request', 'password', wanted.error.issues[0]?.message ?? 'is required');
      checkPassword('password', wanted.data, { email: row.email, name });
      made = { name, password: await hashPassword(wanted.data) };
    }
    await em.transactional(async (fork) => {
      // Before the link, as where a member is removed.
      const member = await fork.findOne(Member, { id: member_id ?? 0 });
      if (member) await holdOrganization(fork, member.organization_id);
      await redeemLink(fork, services, 'join', secret);
      await holdAccount(fork, row);
      if (made) await fork.nativeUpdate(User, { id: row.id }, made);
      const joined_at = services.clock.now();
      await fork.nativeUpdate(Member, { id: member_id ?? 0, joined_at: null }, { joined_at });
      await endResetLink(fork, row.id);
      await userChanged(fork, row.id);
      await startSession({ ...context, em: fork }, { id: row.id, password: made?.password ?? row.password });
    });
    services.grants.evict(`user:${row.id}`);
    return { user: { ...presentUser(row), ...(made && { name: made.name }) } };
  },
});
