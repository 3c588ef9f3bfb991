import { LockMode } from '@mikro-orm/core';
import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { publicOperation } from '../../kernel/operation.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { changeOf, storedObject, timestamp } from '../../kernel/shapes.ts';
import { defined } from '../../lib/objects.ts';
import { userChanged } from '../identity/grant-cache.ts';
import { endResetLink } from './one-time-link.ts';
import { checkPassword, givenPassword, hashPassword, newPassword } from './passwords.ts';
import { endSessions, holdAccount, startSession, UserSession } from './sessions.ts';
import { tryPassword } from './throttle.ts';
import { type Preferences, User } from './user.entity.ts';
import { personName, presentUser, user } from './user.ts';

type Caller = { actor: { user?: { id: number; session: { id: number } | null } } | null };

/** Who is behind the call of an operation for a `person`. */
function personOf({ actor }: Caller): { id: number; session: { id: number } | null } {
  if (!actor?.user) throw new Error('A person was expected, and is not there');
  return actor.user;
}

const maxPreferences = 16 * 1024;

export const preferences = z
  .object({
    language: z
      .string()
      .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a language tag such as en or de-AT')
      .nullish(),
    time_zone: z
      .string()
      .refine(
        (zone) => Intl.supportedValuesOf('timeZone').includes(zone) || zone === 'UTC',
        'must be a time zone such as Europe/Berlin',
      )
      .nullish(),
    theme: z.enum(['light', 'dark', 'system']).meta({ id: 'Theme' }).nullish(),
    editor: storedObject.nullish().describe('Of the entry editor: its own keys'),
  })
  .meta({ id: 'Preferences' });

/** What a person has chosen, with null for what they have not. */
export const presentPreferences = ({ language, time_zone, theme, editor }: Preferences) => ({
  language: language ?? null,
  time_zone: time_zone ?? null,
  theme: theme ?? null,
  editor: editor ?? null,
});

export const updatePreferences = publicOperation({
  name: 'identity.updatePreferences',
  kind: 'command',
  permission: 'person',
  notInSteps: true,
  summary: 'Change what the caller has chosen for the dashboard; null takes a choice back',
  input: changeOf(preferences.shape),
  output: preferences,
  audit: () => ({ type: 'user', id: null }),
  async execute(context, change) {
    const { em } = context;
    // Another tab may choose something else at the same time.
    const lock = { refresh: true, lockMode: LockMode.PESSIMISTIC_WRITE } as const;
    const row = await em.findOneOrFail(User, { id: personOf(context).id }, lock);
    const next = Object.fromEntries(
      Object.entries({ ...row.preferences, ...defined(change) }).filter(([, value]) => value !== null),
    ) as Preferences;
    if (JSON.stringify(next).length > maxPreferences)
      throw new DomainError('invalid_request', `preferences: must be at most ${maxPreferences} bytes together`);
    row.preferences = next;
    await em.flush();
    return presentPreferences(next);
  },
});

export const updateAccount = publicOperation({
  name: 'identity.updateAccount',
  kind: 'command',
  permission: 'person',
  notInSteps: true,
  summary: 'Change the name of the caller',
  input: z.object({ name: personName }),
  output: user,
  audit: (_input, output) => ({ type: 'user', id: output ? String(output.id) : null }),
  async execute(context, { name }) {
    const { em } = context;
    const row = await em.findOneOrFail(User, { id: personOf(context).id });
    row.name = name;
    await em.flush();
    await userChanged(em, row.id);
    return presentUser(row);
  },
});

export const changePassword = publicOperation({
  name: 'identity.changePassword',
  kind: 'command',
  effect: 'external',
  permission: 'person',
  irreversible: true,
  notInSteps: true,
  summary: 'Change the password of the caller; all other sessions end, and this one gets a new cookie',
  input: z.object({ current_password: givenPassword, new_password: newPassword }),
  output: z.object({ user }).meta({ id: 'PasswordChanged' }),
  audit: (_input, output) => ({ type: 'user', id: output ? String(output.user.id) : null }),
  async execute(context, { current_password, new_password }) {
    const { em, services, address } = context;
    const { id, session } = personOf(context);
    if (!session) throw new DomainError('forbidden', 'Only a person who is signed in has a password');
    const row = await em.findOneOrFail(User, { id });
    checkPassword('new_password', new_password, row);
    if (!(await tryPassword(services, row.email, address, current_password, row.password)).ok)
      throw new DomainError('forbidden', 'current_password: is wrong');
    const password = await hashPassword(new_password);
    await em.transactional(async (fork) => {
      await holdAccount(fork, row);
      await fork.nativeUpdate(User, { id }, { password });
      await endSessions(fork, id);
      await endResetLink(fork, id);
      await startSession({ ...context, em: fork }, { id, password });
    });
    services.grants.evict(`user:${id}`);
    return { user: presentUser(row) };
  },
});

const session = z
  .object({
    id: z.int32(),
    created_at: timestamp,
    last_used: timestamp,
    address: z.string().nullable(),
    browser: z.string().nullable().describe('User-Agent at sign-in'),
    is_current: z.boolean().describe('The one of this request'),
  })
  .meta({ id: 'Session' });

export const listSessions = publicOperation({
  name: 'identity.listSessions',
  kind: 'query',
  permission: 'person',
  summary: 'List where the caller is signed in, the last used first',
  input: z.object({ ...pageInput }),
  output: pageOf(session),
  async execute(context, input) {
    const person = personOf(context);
    const { rows, asPage } = await findPage(
      context.em,
      input,
      UserSession,
      { user_id: person.id },
      { orderBy: { last_used: 'desc', id: 'desc' } },
    );
    return asPage(
      rows.map(({ id, created_at, last_used, address, browser }) => ({
        id,
        created_at,
        last_used,
        address: address ?? null,
        browser: browser ?? null,
        is_current: id === person.session?.id,
      })),
    );
  },
});

export const endSession = publicOperation({
  name: 'identity.endSession',
  kind: 'command',
  permission: 'person',
  irreversible: true,
  notInSteps: true,
  summary: 'End one session of the caller',
  input: z.object({ session_id: z.int32().min(1) }),
  output: z.object({ message: z.string() }).meta({ id: 'SessionEnded' }),
  audit: ({ session_id }) => ({ type: 'session', id: String(session_id) }),
  async execute(context, { session_id }) {
    const person = personOf(context);
    if ((await endSessions(context.em, person.id, { id: session_id })) === 0)
      throw new DomainError('not_found', 'Session not found');
    if (person.session?.id === session_id) context.setSession(null);
    return { message: 'Session ended' };
  },
});

export const endOtherSessions = publicOperation({
  name: 'identity.endOtherSessions',
  kind: 'command',
  permission: 'person',
  irreversible: true,
  notInSteps: true,
  summary: 'End all sessions of the caller but this one',
  input: z.object({}),
  output: z.object({ ended_count: z.int32() }).meta({ id: 'OtherSessionsEnded' }),
  audit: () => ({ type: 'session', id: null }),
  async execute(context) {
    const person = personOf(context);
    return {
      ended_count: await endSessions(context.em, person.id, person.session ? { id: { $ne: person.session.id } } : {}),
    };
  },
});
