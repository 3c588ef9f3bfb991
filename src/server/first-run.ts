import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Token } from '../domain/identity/token.entity.ts';
import { hashToken } from '../domain/identity/token-text.ts';
import { createToken, revokeToken } from '../domain/identity/tokens.operations.ts';
import { Organization } from '../domain/organizations/organization.entity.ts';
import { createOrganization } from '../domain/organizations/organizations.operations.ts';
import { Project } from '../domain/projects/project.entity.ts';
import { createProject } from '../domain/projects/projects.operations.ts';
import type { AllServices } from '../domain/services.ts';
import { Setting } from '../domain/setting.entity.ts';
import { makeLink, OneTimeLink } from '../domain/users/one-time-link.ts';
import { hashPassword } from '../domain/users/passwords.ts';
import { demo, makeFirstUser, needsSetup, requireNoAccount } from '../domain/users/setup.operations.ts';
import type { Actor } from '../kernel/actor.ts';
import { permissionNames } from '../kernel/actor.ts';
import type { AnyOperation, Call } from '../kernel/operation.ts';
import { run } from '../kernel/run.ts';
import type { Change } from '../ports/git-writes.ts';
import { type FirstRun, readRecord, writeRecord } from './first-run-record.ts';

/** A call of the service itself, with every permission in the organisations it works on. */
export function systemCall(services: AllServices, actor: Actor): Call<AllServices> {
  return {
    services,
    actor,
    conditions: {},
    signal: new AbortController().signal,
    request_id: randomUUID(),
    address: null,
    facts: {},
  };
}

const skipped = new Set(['node_modules', 'dist', '.astro', '.DS_Store']);

async function* filesBelow(directory: string, prefix = ''): AsyncGenerator<Change> {
  for (const item of await readdir(directory, { withFileTypes: true })) {
    if (skipped.has(item.name)) continue;
    const from = path.join(directory, item.name);
    if (item.isDirectory()) yield* filesBelow(from, `${prefix}${item.name}/`);
    else if (item.isFile()) yield { path: `${prefix}${item.name}`, content: await readFile(from) };
  }
}

/** Puts the demo's files into its empty repository, as one commit. */
async function commitDemo(services: AllServices, uuid: string, directory: string): Promise<void> {
  const git = services.git.open(uuid);
  if ((await git.branches()).length > 0) return;
  const changes: Change[] = [];
  for await (const change of filesBelow(directory)) changes.push(change);
  const author = { name: 'Portico', email: `portico@${services.settings.public_host}` };
  const message = 'Begin the demo site';
  await git.write({
    branch: await git.defaultBranch(),
    author,
    plan: async () => ({ changes, message, result: null }),
  });
}

/**
 * Makes the demo: organisation, project, repository, and a token for it. Each step finds what an interrupted start left.
 * @param kept the token an interrupted start has written down; one that it has not is revoked, because its text is lost
 * @returns the token.
 */
async function makeDemo(services: AllServices, actor: Actor, directory: string, kept = ''): Promise<string> {
  const em = services.orm.em.fork();
  const call = <Op extends AnyOperation>(operation: Op, input: object) =>
    run(operation, systemCall(services, actor), input);
  let organization = await em.findOne(Organization, { machine_name: demo.organization });
  if (!organization) {
    await call(createOrganization, { name: 'Demo', machine_name: demo.organization });
    organization = await em.findOneOrFail(Organization, { machine_name: demo.organization });
  }
  const wanted = { organization_id: organization.id, machine_name: demo.project };
  if (!(await em.findOne(Project, wanted))) {
    await call(createProject, { organization: demo.organization, name: 'Demo site', machine_name: demo.project });
  }
  const project = await em.findOneOrFail(Project, wanted);
  await commitDemo(services, project.uuid, directory);
  const made = { organization_id: organization.id, created_by: actor.id, revoked_at: null };
  const earlier = await em.find(Token, made);
  if (earlier.some(({ hash }) => hash === hashToken(kept))) return kept;
  for (const { id } of earlier) await call(revokeToken, { organization: demo.organization, token_id: String(id) });
  const permissions = permissionNames.filter((name) => name !== 'manage_organization');
  const draft = {
    name: 'Demo',
    organization: demo.organization,
    permissions,
    projects: [demo.project],
    expires_in: '30d',
  };
  return ((await call(createToken, draft)) as { token: string }).token;
}

/** How often a process looks whether another one is done with the first run; milliseconds. */
const lookEvery = 100;

interface Options {
  services: AllServices;
  actor: Actor;
  dataDir: string;
  url: string;
  previewUrl: string;
  /** `PORTICO_DEMO`; undefined: on at the very first start. */
  demo: 'on' | 'off' | undefined;
  demoDirectory: string;
  /** Of the first account, which is made without a link. */
  admin: { email: string; password: string } | null;
}

/** Servers that start together on one database share the link that the first of them has made, milliseconds. */
const together = 60_000;

/**
 * Makes the first account where the settings name it, or else a set-up link as long as no account exists; each start makes a new one.
 * @returns the link; null when there is an account
 */
async function prepareSetup({ services, admin }: Options, before: string | undefined): Promise<string | null> {
  const now = services.clock.now();
  const password = admin && (await needsSetup(services.orm.em.fork())) ? await hashPassword(admin.password) : null;
  return services.orm.em.fork().transactional(async (em) => {
    if (!(await needsSetup(em))) return null;
    if (admin && password !== null) {
      const { email } = admin;
      await requireNoAccount(em);
      await makeFirstUser(em, { email: email.toLowerCase(), name: email.split('@')[0] ?? email, password }, now);
      return null;
    }
    const last = await em.findOne(OneTimeLink, { kind: 'setup' });
    // The servers may be reached at different addresses.
    if (before !== undefined && last && now.getTime() - last.created_at.getTime() < together)
      return `${services.settings.public_url}/setup${before.slice(before.indexOf('#'))}`;
    return (await makeLink(em, services, 'setup')).url;
  });
}

/**
 * Renews `first-run.json`, and at the very first start imports the demo site. Of several processes on one database one does it: the record is
 * read and replaced under a lock of the database, because one read before it would not have the token that another process is writing.
 * @returns the record, and whether the token in it is new and has to be shown.
 */
export async function firstRun(options: Options): Promise<{ record: FirstRun; isNew: boolean }> {
  const { services, actor, dataDir, url, previewUrl } = options;
  const begin = async () => {
    const em = services.orm.em.fork();
    const before = await readRecord(dataDir);
    const { setup_url: lastLink, ...kept } = before ?? {};
    const record: FirstRun = { ...kept, url, preview_url: previewUrl };
    const done = await em.findOne(Setting, { name: 'demo' });
    const first = !done && (await em.count(Organization, { machine_name: { $ne: demo.organization } })) === 0;
    const isNew = !done && options.demo !== 'off' && (options.demo === 'on' || first);
    if (isNew) {
      const token = await makeDemo(services, actor, options.demoDirectory, before?.token);
      Object.assign(record, demo, { token });
    }
    const setup_url = await prepareSetup(options, lastLink);
    if (setup_url !== null) record.setup_url = setup_url;
    if (JSON.stringify(before) !== JSON.stringify(record)) await writeRecord(dataDir, record);
    if (isNew) await em.insert(Setting, { name: 'demo', value: 'imported' });
    return { record, isNew };
  };
  for (;;) {
    const done = await services.locks.unlessHeld('first run', begin);
    if (done) return done.result;
    await setTimeout(lookEvery);
  }
}
