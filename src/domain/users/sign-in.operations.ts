import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { publicOperation } from '../../kernel/operation.ts';
import { givenPassword, hashPassword } from './passwords.ts';
import { endSessions, requireSameOrigin, startSession } from './sessions.ts';
import { tryPassword } from './throttle.ts';
import { User } from './user.entity.ts';
import { email, presentUser, signedIn } from './user.ts';

export const signIn = publicOperation({
  name: 'identity.signIn',
  kind: 'command',
  // The password is compared before the transaction, and a failed attempt stays counted.
  effect: 'external',
  permission: 'public',
  auditsAttempts: true,
  irreversible: true,
  notInSteps: true,
  summary: 'Sign in with e-mail and password; the answer sets the cookie of a session',
  input: z.object({ email, password: givenPassword }),
  output: signedIn,
  audit: ({ email }, output) => ({ type: 'user', id: output ? String(output.user.id) : email }),
  async execute(context, { email, password }) {
    const { em, services } = context;
    requireSameOrigin(context.browser);
    if (!services.settings.password_sign_in)
      throw new DomainError('forbidden', 'Signing in with a password is switched off here; use the other button');
    const row = await em.findOne(User, { email, disabled_at: null });
    const { ok, isWeak } = await tryPassword(services, email, context.address, password, row?.password);
    if (!row || !ok) throw new DomainError('unauthenticated', 'E-mail or password is wrong');
    const stronger = isWeak ? await hashPassword(password) : null;
    await em.transactional(async (fork) => {
      await startSession({ ...context, em: fork }, row);
      if (stronger !== null) await fork.nativeUpdate(User, { id: row.id }, { password: stronger });
    });
    return { user: presentUser(row) };
  },
});

export const signOut = publicOperation({
  name: 'identity.signOut',
  kind: 'command',
  permission: 'person',
  irreversible: true,
  notInSteps: true,
  summary: 'End the session of this browser',
  input: z.object({}),
  output: z.object({ message: z.string() }).meta({ id: 'SignedOut' }),
  audit: () => ({ type: 'session', id: null }),
  async execute({ em, actor, setSession }) {
    const { user } = actor ?? {};
    if (!user?.session) throw new DomainError('forbidden', 'Only a session can be signed out; revoke a token instead');
    await endSessions(em, user.id, { id: user.session.id });
    setSession(null);
    return { message: 'Signed out' };
  },
});

export const confirmPassword = publicOperation({
  name: 'identity.confirmPassword',
  kind: 'command',
  effect: 'external',
  permission: 'person',
  irreversible: true,
  notInSteps: true,
  summary: 'Prove again who is signed in, for commands that want a recent proof; the session gets a new cookie',
  input: z.object({ password: givenPassword }),
  output: z.object({ proved_until: z.iso.datetime() }).meta({ id: 'PasswordConfirmed' }),
  audit: () => ({ type: 'session', id: null }),
  async execute(context, { password }) {
    const { em, services, actor, address } = context;
    const { user: person } = actor ?? {};
    if (!person?.session) throw new DomainError('forbidden', 'Only a person who is signed in has a password');
    const row = await em.findOneOrFail(User, { id: person.id });
    const { ok } = await tryPassword(services, row.email, address, password, row.password);
    if (!ok) throw new DomainError('forbidden', 'Password is wrong');
    await em.transactional((fork) => startSession({ ...context, em: fork }, row));
    services.grants.evict(`user:${person.id}`);
    return { proved_until: new Date(services.clock.now().getTime() + 10 * 60_000).toISOString() };
  },
});
