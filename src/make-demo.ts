import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Actor } from './domain/identity/actor.ts';
import { Token } from './domain/identity/token.entity.ts';
import { hashToken } from './domain/identity/token-text.ts';
import { createToken, revokeToken } from './domain/identity/tokens.operations.ts';
import type { AnyOperation } from './domain/operation.ts';
import { Organization } from './domain/organizations/organization.entity.ts';
import { createOrganization } from './domain/organizations/organizations.operations.ts';
import { permissionNames } from './domain/permissions.ts';
import type { Change } from './domain/ports/git-writes.ts';
import { Project } from './domain/projects/project.entity.ts';
import { createProject } from './domain/projects/projects.operations.ts';
import { run } from './domain/run.ts';
import type { Services } from './domain/services.ts';
import { systemCall } from './system-call.ts';

/** Where the demo is. */
export const demo = { organization: 'demo', project: 'site' };
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
async function commitDemo(services: Services, uuid: string, directory: string): Promise<void> {
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
export async function makeDemo(services: Services, actor: Actor, directory: string, kept = ''): Promise<string> {
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
