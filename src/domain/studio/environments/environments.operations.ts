import { randomUUID } from 'node:crypto';
import { LockMode } from '@mikro-orm/core';
import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { findPage, maxPerPage, pageInput, pageOf } from '../../../kernel/paging.ts';
import { storedText } from '../../../kernel/shapes.ts';
import { defined } from '../../../lib/objects.ts';
import { foldCase, normalized } from '../../../lib/text.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { holdProject } from '../../projects/project-ref.ts';
import { Deployment } from '../deployments/deployment.entity.ts';
import { queueDeployment, stopDeployment } from '../deployments/queue-deployment.ts';
import { headOf } from '../merge/write-merge.ts';
import { checkRefName } from '../ref-name.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { checkDraftSource, followDraftSource, isDraftPreview } from './draft-previews.ts';
import { Environment } from './environment.entity.ts';
import {
  environmentRecord,
  environmentSummaries,
  findEnvironment,
  locateEnvironment,
  readEnvironments,
  roomForVariables,
  withoutVariables,
} from './environment-record.ts';
import { newHookSecret, sealHookSecret, sealVariables } from './environment-secrets.ts';
import {
  environment,
  environmentChange,
  environmentDraft,
  environmentNumber,
  environmentSummary,
  maxEnvironments,
  savedEnvironment,
} from './environments.schema.ts';

type BuildSettings = Pick<
  Environment,
  'provider' | 'root_directory' | 'install_command' | 'build_command' | 'output_directory'
>;

/** How a commit's site is built, found out from its files; what a caller has said counts, and the rest follows from it. */
async function buildDefaults(
  { git, studio, project }: Pick<StudioContext, 'git' | 'studio' | 'project'>,
  commit: Oid,
  said: Partial<BuildSettings>,
): Promise<BuildSettings> {
  const root = said.root_directory ?? project.settings.content_root;
  const { defaults: found } = await studio.routes.at(git, await git.snapshot(commit), root);
  const command = said.build_command === undefined ? found.build_command : said.build_command;
  const provider = said.provider ?? (command ? 'build' : 'static');
  const builds = provider === 'build';
  return {
    provider,
    root_directory: said.root_directory ?? found.root_directory,
    install_command: (said.install_command === undefined ? found.install_command : said.install_command) ?? null,
    build_command: command ?? null,
    // The output of a build is nothing that the branch itself holds.
    output_directory: said.output_directory ?? (builds || found.build_command === null ? found.output_directory : ''),
  };
}

/** @throws DomainError `validation_failed` when an environment lacks what its provider needs. */
function checkProvider({
  provider,
  build_command,
  deploy_webhook_url,
}: Pick<Environment, 'provider' | 'build_command' | 'deploy_webhook_url'>): void {
  if (provider === 'build' && !build_command)
    throw fieldError('validation_failed', 'build_command', 'is required, because none was found in the repository');
  if (provider === 'webhook' && !deploy_webhook_url)
    throw fieldError('validation_failed', 'deploy_webhook_url', 'is required for provider webhook');
}

/**
 * Holds a name against those of a project's other environments: upper and lower case do not tell environments apart, as on
 * GitHub. Two that were named before this was held keep their names.
 * @throws DomainError `already_exists`
 */
function checkNameIsFree(name: string, others: readonly { name: string }[]): void {
  const other = others.find((one) => foldCase(one.name) === foldCase(name));
  if (other) throw fieldError('already_exists', 'name', `environment ${other.name} exists`);
}

const longest = 50;

/** A name as a part of a host name: `[a-z0-9-]`, no `-` at either end, never `--` as 2nd and 3rd characters (those mean other things). */
function slugFrom(name: string): string {
  const plain = normalized(name, 'NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, longest)
    .replace(/^-+|-+$/g, '');
  return plain || 'environment';
}

/** The slug, or the first free one with a number at its end. */
function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  if (!taken.has(slug)) return slug;
  for (let number = 2; ; number++) {
    const next = `${slug.slice(0, longest - 4)}-${number}`.replace(/--+/g, '-');
    if (!taken.has(next)) return next;
  }
}

const listing = z.object({
  ...pageInput,
  branch: storedText(1000).optional().describe('Only environments that publish this branch'),
  draft_preview: z.boolean().optional().describe('true: only draft previews; false: only other environments'),
});

/** The environments that a list has. */
const listed = (
  { project }: Pick<StudioContext, 'project'>,
  { branch, draft_preview }: Pick<z.output<typeof listing>, 'branch' | 'draft_preview'>,
) => ({
  project_id: project.id,
  ...(branch !== undefined && { branch }),
  ...(draft_preview !== undefined && { previewed_at: draft_preview ? { $ne: null } : null }),
});

export const listEnvironments = studioOperation({
  name: 'studio.listEnvironments',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List environments',
  input: listing,
  output: pageOf(environment),
  async execute(context, { branch, draft_preview, ...paging }) {
    const where = listed(context, { branch, draft_preview });
    const options = { orderBy: { id: 'asc' }, fields: ['id'], disableIdentityMap: true } as const;
    const { rows, asPage } = await findPage(context.em, paging, Environment, where, options);
    const ids = rows.map(({ id }) => id);
    return asPage(await readEnvironments(context, ids));
  },
});

export const listEnvironmentSummaries = studioOperation({
  name: 'studio.listEnvironmentSummaries',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'List environments without their variables',
  input: listing,
  output: pageOf(environmentSummary),
  async execute(context, { branch, draft_preview, ...paging }) {
    const where = listed(context, { branch, draft_preview });
    const options = { orderBy: { id: 'asc' }, disableIdentityMap: true, ...withoutVariables } as const;
    const { rows, asPage } = await findPage(context.em, paging, Environment, where, options);
    return asPage(await environmentSummaries(context, rows));
  },
});

export const getEnvironment = studioOperation({
  name: 'studio.getEnvironment',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Get one environment',
  input: z.object(environmentNumber),
  output: environment,
  async execute(context, input) {
    const { id } = await locateEnvironment(context, input.environment);
    await roomForVariables(context, [id]);
    return environmentRecord(context, await findEnvironment(context, id));
  },
});

export const getEnvironmentSummary = studioOperation({
  name: 'studio.getEnvironmentSummary',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Get one environment without its variables',
  input: z.object(environmentNumber),
  output: environmentSummary,
  async execute(context, input) {
    const [found] = await environmentSummaries(context, [await locateEnvironment(context, input.environment)]);
    return found as z.output<typeof environmentSummary>;
  },
});

export const getEnvironments = studioOperation({
  name: 'studio.getEnvironments',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Environments by their numbers, in the order of the input; null for missing ones',
  input: z.object({
    environments: z.array(z.int32()).max(maxPerPage, `must be at most ${maxPerPage}`),
    variables: z.boolean().describe('With their variables'),
  }),
  output: z.array(environment.nullable()),
  async execute(context, { environments, variables }) {
    const where = { project_id: context.project.id, id: { $in: environments } };
    const rows = await context.em.find(Environment, where, { disableIdentityMap: true, ...withoutVariables });
    const ids = rows.map(({ id }) => id);
    const records = variables
      ? await readEnvironments(context, ids)
      : (await environmentSummaries(context, rows)).map((summary) => ({ ...summary, variables: [] }));
    const byId = new Map(records.map((record) => [record.id, record]));
    return environments.map((id) => byId.get(id) ?? null);
  },
});

const usual = {
  network: 'full',
  timeout_seconds: 900,
  auto_deploy: true,
  cancel_superseded: false,
  visibility: 'members',
  protected: false,
} as const;

/** What distinguishes a project's environments. Locks the project's row until the transaction ends, so that names are taken one after another. */
export async function holdNames({ em, project }: Pick<StudioContext, 'em' | 'project'>) {
  await holdProject(em, project.id);
  const fields = ['name', 'slug', 'branch', 'previewed_at'] as const;
  return em.find(Environment, { project_id: project.id }, { fields });
}

/** A free slug for an environment beside others. */
export const slugBeside = (name: string, others: readonly { slug: string }[]): string =>
  freeSlug(slugFrom(name), new Set(others.map(({ slug }) => slug)));

/**
 * Takes a name for an environment of the project. Draft previews have a limit of their own.
 * @returns a free slug
 * @throws DomainError `already_exists`, `limit_reached`
 */
async function takeName(context: Pick<StudioContext, 'em' | 'project'>, name: string): Promise<string> {
  const others = await holdNames(context);
  checkNameIsFree(name, others);
  if (others.filter((other) => !isDraftPreview(other)).length >= maxEnvironments)
    throw new DomainError('limit_reached', `A project has at most ${maxEnvironments} environments; delete one first`);
  return slugBeside(name, others);
}

export const createEnvironment = studioOperation({
  name: 'studio.createEnvironment',
  kind: 'command',
  permission: 'manage_studio',
  freshGrant: true,
  shownOnce: ['deploy_hook_secret'],
  summary: 'Create an environment, and deploy to it unless deploy or auto_deploy is off',
  input: environmentDraft,
  output: savedEnvironment,
  audit: (_input, output) => ({ type: 'environment', id: output ? String(output.id) : null }),
  async execute(context, { name, branch, variables, deploy, ...draft }) {
    const { em, git, services, project } = context;
    const head = await headOf(context, 'branch', checkRefName('branch', branch));
    const build = await buildDefaults(context, head, draft as never);
    const type = draft.type ?? (branch === (await git.defaultBranch()) ? 'production' : 'preview');
    const slug = await takeName(context, name);
    const now = services.clock.now();
    const uuid = randomUUID();
    const row = em.create(Environment, {
      ...usual,
      ...Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined)),
      ...build,
      uuid,
      project_id: project.id,
      name,
      slug,
      branch,
      type,
      draft_source: false,
      variables: await sealVariables(services, project, { uuid, version: 1, variables: [] }, variables ?? []),
      version: 1,
      created_at: now,
      updated_at: now,
    });
    checkProvider(row);
    const deploy_hook_secret = row.provider === 'webhook' ? newHookSecret() : null;
    if (deploy_hook_secret !== null)
      row.deploy_hook_secret = await sealHookSecret(services, project, uuid, deploy_hook_secret);
    if (row.auto_deploy) row.followed_sha = head;
    await em.persist(row).flush();
    if (deploy ?? row.auto_deploy)
      await queueDeployment(context, row, { commit: await git.commit(head), trigger: 'manual' });
    return { ...(await environmentRecord(context, row)), deploy_hook_secret };
  },
});

type Context = Pick<StudioContext, 'em' | 'git' | 'studio' | 'project'>;

/** @throws DomainError `already_exists` */
async function checkName({ em, project }: Context, { id }: Environment, name: string): Promise<void> {
  checkNameIsFree(name, await em.find(Environment, { project_id: project.id, id: { $ne: id } }, { fields: ['name'] }));
}

/** @throws DomainError `not_found`, and `validation_failed` for a deployment that has nothing to show (any more) */
async function checkPublishable({ em }: Context, { id }: Environment, deployment: number): Promise<void> {
  // Locked until it is shown: outputs that are not shown may be dropped.
  const held = { refresh: true, lockMode: LockMode.PESSIMISTIC_READ } as const;
  const row = await em.findOne(Deployment, { id: deployment, environment_id: id }, held);
  if (!row)
    throw fieldError('not_found', 'published_deployment_id', `deployment ${deployment} is not of this environment`);
  if (row.conclusion === 'success' && row.manifest_sha256) return;
  const problem = row.conclusion === 'success' ? 'its files are not kept any more' : 'it has not succeeded';
  throw fieldError('validation_failed', 'published_deployment_id', `${problem}; run it again instead`);
}

export const updateEnvironment = studioOperation({
  name: 'studio.updateEnvironment',
  kind: 'command',
  permission: 'manage_studio',
  freshGrant: true,
  shownOnce: ['deploy_hook_secret'],
  summary: 'Change an environment, or publish another of its deployments',
  input: environmentChange,
  output: savedEnvironment,
  audit: ({ environment }) => ({ type: 'environment', id: String(environment) }),
  async execute(context, { environment: id, variables, published_deployment_id, ...change }) {
    const { em, services, project } = context;
    await holdProject(em, project.id);
    const row = await findEnvironment(context, id);
    if (isDraftPreview(row) && Object.keys(defined({ ...change, variables })).length > 0)
      throw new DomainError('protected', `Environment ${row.name} is a draft preview: change the one it is a copy of`);
    if (change.name !== undefined && change.name !== row.name) await checkName(context, row, change.name);
    if (change.branch !== undefined) await headOf(context, 'branch', checkRefName('branch', change.branch));
    if (published_deployment_id != null) await checkPublishable(context, row, published_deployment_id);
    const version = row.version + 1;
    const sealed = variables && (await sealVariables(services, project, { ...row, version }, variables));
    em.assign(row, {
      ...defined({ ...change, published_deployment_id, variables: sealed }),
      version,
      updated_at: services.clock.now(),
    });
    checkProvider(row);
    if (row.draft_source) checkDraftSource('provider', row);
    const secret = row.provider === 'webhook' && !row.deploy_hook_secret ? newHookSecret() : null;
    if (secret !== null) row.deploy_hook_secret = await sealHookSecret(services, project, row.uuid, secret);
    await em.flush();
    if (row.draft_source) await followDraftSource(context, row);
    return { ...(await environmentRecord(context, row)), deploy_hook_secret: secret };
  },
});

export const deleteEnvironment = studioOperation({
  name: 'studio.deleteEnvironment',
  kind: 'command',
  permission: 'manage_studio',
  irreversible: true,
  summary: 'Delete an environment with its deployments, and unpublish it',
  input: z.object({
    ...environmentNumber,
    force: z.boolean().default(false).describe('Cancel a queued or running deployment'),
  }),
  output: environment,
  audit: ({ environment }) => ({ type: 'environment', id: String(environment) }),
  async execute(context, { environment: id, force }) {
    const { em, project } = context;
    await holdProject(em, project.id);
    const row = await findEnvironment(context, id);
    if (row.protected) throw new DomainError('protected', `Environment ${row.name} is protected: unprotect it first`);
    const open = await em.find(Deployment, { environment_id: id, status: { $ne: 'completed' } });
    if (open.length > 0 && !force)
      throw new DomainError('in_use', `Environment ${row.name} is being deployed to; force cancels that`, {
        details: { deployments: open.map((deployment) => deployment.id) },
      });
    const record = await environmentRecord(context, row);
    const target = { uuid: row.uuid, name: row.name, secret: row.deploy_hook_secret ?? null };
    for (const deployment of open) {
      const { branch, commit_sha, settings } = deployment;
      const deleted = {
        project_id: project.id,
        environment: target,
        branch,
        commit_sha,
        url: settings.deploy_webhook_url,
      };
      await stopDeployment(context, deployment, 'cancelled', deleted);
    }
    if (row.draft_source) await followDraftSource(context, null);
    // A worker whose deployment has gone ends what it runs, as one that was cancelled.
    await em.nativeDelete(Environment, { id });
    return record;
  },
});
