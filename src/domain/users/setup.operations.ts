/** The first person: `setup` is reached by the link the server prints as long as there is no account. */
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { type Extension, publicOperation } from '../../kernel/operation.ts';
import { displayName, machineNameFrom } from '../../kernel/shapes.ts';
import { orTaken } from '../../kernel/sql.ts';
import { grantsChanged } from '../identity/grant-cache.ts';
import { Token } from '../identity/token.entity.ts';
import { Member, ownerOf } from '../organizations/member.entity.ts';
import { Organization } from '../organizations/organization.entity.ts';
import { Project } from '../projects/project.entity.ts';
import { OneTimeLink, redeemLink } from './one-time-link.ts';
import { checkPassword, hashPassword, newPassword } from './passwords.ts';
import { requireSameOrigin, startSession } from './sessions.ts';
import { User } from './user.entity.ts';
import { email, personName, presentUser, user } from './user.ts';

/** Machine names of the organisation and project that the first start makes. */
export const demo = { organization: 'demo', project: 'site' };

/** Whether there is no account yet, so that the set-up link makes the first. */
export const needsSetup = async (em: EntityManager): Promise<boolean> => (await em.count(User, {})) === 0;

export const getInstance = publicOperation({
  name: 'identity.getInstance',
  kind: 'query',
  permission: 'public',
  summary: 'What a person who is not signed in needs to know of this server',
  input: z.object({}),
  output: z
    .object({
      setup_required: z.boolean().describe('There is no account yet: the link in the log makes the first one'),
      password_sign_in: z.boolean(),
      oidc: z
        .string()
        .nullable()
        .describe('Host of the OpenID provider, whose sign-in begins at /auth/oidc; null: none'),
    })
    .meta({ id: 'Instance' }),
  async execute({ em, services }) {
    return {
      setup_required: await needsSetup(em),
      password_sign_in: services.settings.password_sign_in,
      oidc: services.openid?.host ?? null,
    };
  },
});

/** Keeps other first accounts from being made until the transaction ends. @throws DomainError `conflict` when there is an account already */
export async function requireNoAccount(em: EntityManager): Promise<void> {
  await em.execute(`select pg_advisory_xact_lock(hashtext('portico set-up'))`);
  if (!(await needsSetup(em))) throw new DomainError('conflict', 'Portico is set up already: sign in instead');
}

/** Makes a person Owner of the organisations that have none, which were made before there were accounts. */
async function takeOwnerless(em: EntityManager, user_id: number, now: Date, except: readonly string[]): Promise<void> {
  const owned = await em.find(Member, { role: 'owner' });
  const ids = await em.find(Organization, {
    id: { $nin: owned.map((row) => row.organization_id) },
    machine_name: { $nin: [...except] },
    deleted_at: null,
  });
  for (const { id } of ids) await em.insert(Member, ownerOf(id, user_id, now));
}

/** Deletes the demo's project, as its Owner could, and revokes the token that was printed for it. */
async function removeDemo(em: EntityManager, now: Date): Promise<void> {
  const organization = await em.findOne(Organization, { machine_name: demo.organization, deleted_at: null });
  if (!organization) return;
  const { id: organization_id } = organization;
  const living = { organization_id, machine_name: demo.project, deleted_at: null };
  await em.nativeUpdate(Project, living, { deleted_at: now, updated_at: now });
  await em.nativeUpdate(Token, { organization_id, revoked_at: null }, { revoked_at: now });
  await grantsChanged(em, organization_id);
}

interface FirstUser {
  email: string;
  name: string;
  /** As stored. */
  password: string;
}

/**
 * Makes the first account (after `requireNoAccount`), an administrator of the instance and Owner of the organisations that have none, but of
 * those in `except`.
 */
export async function makeFirstUser(
  em: EntityManager,
  first: FirstUser,
  now: Date,
  except: readonly string[] = [],
): Promise<User> {
  await em.nativeDelete(OneTimeLink, { kind: 'setup' });
  const row = em.create(User, { ...first, instance_admin: true, preferences: {}, created_at: now });
  await em.flush();
  await takeOwnerless(em, row.id, now, except);
  return row;
}

/** Where a process has written the set-up link down for people. */
export interface SetupNote {
  /** Removes it: the link has been used. */
  remove(): Promise<void>;
}

const noted: Extension<'public', { setupNote: SetupNote }, { setupNote: SetupNote }> = {
  provide: ({ setupNote }) => ({ setupNote }),
  afterCommit({ setupNote, log }) {
    // What stays written leads nowhere, and the next start removes it.
    setupNote.remove().catch((err: unknown) => log.warn({ err }, 'the used set-up link is still in first-run.json'));
  },
};

export const setup = publicOperation.with(noted)({
  name: 'identity.setup',
  kind: 'command',
  permission: 'public',
  auditsAttempts: true,
  irreversible: true,
  notInSteps: true,
  summary: 'Make the first account, with the secret of the link the server printed, and sign it in',
  input: z.object({
    secret: z.string().describe('What follows # in the link'),
    name: personName,
    email,
    password: newPassword,
    organization_name: displayName.describe('Of the organisation to begin with'),
    keep_demo: z.boolean().default(true).describe('Keep the demo site, as its Owner'),
  }),
  output: z.object({ user, organization: z.string().describe('Machine name') }).meta({ id: 'SetUp' }),
  audit: (_input, output) => ({ type: 'user', id: output ? String(output.user.id) : null }),
  async execute(context, { secret, name, email, password, organization_name, keep_demo }) {
    const { em, services } = context;
    requireSameOrigin(context.browser);
    checkPassword('password', password, { email, name });
    const machine_name = machineNameFrom(organization_name);
    const now = services.clock.now();
    await requireNoAccount(em);
    await redeemLink(em, services, 'setup', secret);
    const first = { email, name, password: await hashPassword(password) };
    const row = await makeFirstUser(em, first, now, keep_demo ? [] : [demo.organization]);
    if (!keep_demo) await removeDemo(em, now);
    const made = em.create(Organization, {
      name: organization_name,
      machine_name,
      limits: {},
      created_at: now,
      updated_at: now,
    });
    await orTaken('organization_name', `${machine_name} is taken; choose another name`, () => em.flush());
    await em.insert(Member, ownerOf(made.id, row.id, now));
    await startSession(context, row);
    return { user: presentUser(row), organization: machine_name };
  },
});
