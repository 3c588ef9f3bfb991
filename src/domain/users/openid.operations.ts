/** Accounts at an OpenID provider. One signs in the person who linked it from inside their own session, and makes no account here. */
import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { publicOperation } from '../../kernel/operation.ts';
import type { Ports } from '../../kernel/services.ts';
import { timestamp } from '../../kernel/shapes.ts';
import type { OpenIdIdentity } from '../../ports/openid.ts';
import { holdAccount, holdSession, startSession } from './sessions.ts';
import { beginAttempt } from './throttle.ts';
import { User, UserIdentity } from './user.entity.ts';
import { findUser, presentUser, signedIn } from './user.ts';

/** What the browser came back with, and what it kept since it was sent away: secrets, which as parts of one field stay out of the audit log. */
const returned = z.object({
  answer: z.object({
    url: z.string(),
    issuer: z.string(),
    state: z.string(),
    nonce: z.string(),
    verifier: z.string(),
  }),
});

/** The identity the provider confirms. @throws DomainError `not_found` where the settings name no provider */
function confirmed(
  { services: { openid } }: { services: Pick<Ports, 'openid'> },
  { answer: { url, ...checks } }: z.output<typeof returned>,
): Promise<OpenIdIdentity> {
  if (!openid) throw new DomainError('not_found', 'This server has no OpenID provider');
  return openid.finish(url, checks);
}

export const signInWithProvider = publicOperation({
  name: 'identity.signInWithProvider',
  kind: 'command',
  effect: 'external',
  permission: 'public',
  auditsAttempts: true,
  irreversible: true,
  notInSteps: true,
  summary: 'Sign in with the account at the OpenID provider that the browser comes back from',
  input: returned,
  output: signedIn,
  audit: (_input, output) => ({ type: 'user', id: output ? String(output.user.id) : null }),
  async execute(context, input) {
    const { em, services, address } = context;
    // Anyone can come back any number of times from where they were never sent: each asks the provider, and leaves an audit row.
    const attempt = await beginAttempt(services, `provider ${input.answer.state}`, address);
    const { issuer, subject } = await confirmed(context, input);
    const identity = await em.findOne(UserIdentity, { issuer, subject });
    const row = identity && (await em.findOne(User, { id: identity.user_id, disabled_at: null }));
    if (!row)
      throw new DomainError(
        'unauthenticated',
        'No account here is linked to yours there: sign in with your password first, and link it',
      );
    // It comes from the provider's page; that this browser was sent there by us is proved by the state it kept.
    const browser = { user_agent: context.browser?.user_agent ?? null, same_origin: true };
    await attempt.succeeded();
    await em.transactional((fork) => startSession({ ...context, em: fork, browser }, row));
    return { user: presentUser(row) };
  },
});

const identity = z.object({ id: z.int32(), issuer: z.string(), linked_at: timestamp }).meta({ id: 'LinkedIdentity' });

export const linkIdentity = publicOperation({
  name: 'identity.linkIdentity',
  kind: 'command',
  effect: 'external',
  permission: 'person',
  freshGrant: true,
  recentProof: true,
  notInSteps: true,
  summary: 'Let the account at the OpenID provider that the browser comes back from sign the caller in',
  input: returned,
  output: identity,
  audit: (_input, output) => ({ type: 'identity', id: output ? String(output.id) : null }),
  async execute(context, input) {
    const { em, services, actor } = context;
    const user_id = actor?.user?.id ?? 0;
    const { issuer, subject } = await confirmed(context, input);
    const linked_at = services.clock.now();
    // The session can have ended while the provider answered: by a reset of the password, which ends what was linked, too.
    await em.transactional(async (fork) => {
      await holdSession(fork, actor);
      await fork.upsert(
        UserIdentity,
        { user_id, issuer, subject, linked_at },
        { onConflictFields: ['issuer', 'subject'], onConflictAction: 'ignore' },
      );
    });
    const row = await em.findOneOrFail(UserIdentity, { issuer, subject }, { refresh: true });
    if (row.user_id !== user_id)
      throw new DomainError('already_exists', 'This account there is linked to another account here');
    return row;
  },
});

export const listIdentities = publicOperation({
  name: 'identity.listIdentities',
  kind: 'query',
  permission: 'person',
  summary: 'List the accounts elsewhere that sign the caller in',
  input: z.object({}),
  output: z.array(identity),
  execute: ({ em, actor }) => em.find(UserIdentity, { user_id: actor?.user?.id ?? 0 }, { orderBy: { id: 'asc' } }),
});

export const unlinkIdentity = publicOperation({
  name: 'identity.unlinkIdentity',
  kind: 'command',
  permission: 'person',
  irreversible: true,
  recentProof: true,
  notInSteps: true,
  summary: 'Let an account elsewhere sign the caller in no longer',
  input: z.object({ identity_id: z.int32().min(1) }),
  output: identity,
  audit: ({ identity_id }) => ({ type: 'identity', id: String(identity_id) }),
  async execute({ em, actor, services }, { identity_id: id }) {
    const user_id = actor?.user?.id ?? 0;
    const { password } = await findUser(em, user_id);
    // Of two that are unlinked at once the second has to see that the first is gone.
    await holdAccount(em, { id: user_id, password });
    const row = await em.findOne(UserIdentity, { id, user_id });
    if (!row) throw new DomainError('not_found', 'Linked account not found');
    // One at another host than the provider's signs no one in any more. An issuer by itself may be spelled otherwise than in the settings.
    const isWayIn = ({ issuer }: UserIdentity) => services.openid?.host === URL.parse(issuer)?.host;
    const others = await em.find(UserIdentity, { user_id, id: { $ne: id } });
    const hasPassword = password != null && services.settings.password_sign_in;
    if (isWayIn(row) && !hasPassword && !others.some(isWayIn))
      throw new DomainError('conflict', 'It is the only way you have to sign in: set a password first');
    await em.nativeDelete(UserIdentity, { id });
    return row;
  },
});
