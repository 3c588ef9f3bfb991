import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { requirePermission } from '../../../kernel/actor.ts';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import { grantsChanged } from '../../identity/grant-cache.ts';
import { Project, type ProjectRef } from '../../projects/project.entity.ts';
import { loadProject } from '../../projects/project-ref.ts';
import { checkRefName, newRefNameProblem } from '../ref-name.ts';
import { repositoryRecord } from '../repository/repository.operations.ts';
import { repository, repositoryWithHook } from '../repository/repository.schema.ts';
import type { StudioContext } from '../studio.ts';
import { localStudioOperation, publicStudioOperation } from '../studio-operation.ts';
import { checkAuthKind, openHookSecret, storeUpstream } from './remote.ts';
import { syncOf, syncOfAll } from './sync-record.ts';
import { Upstream, UpstreamBranch } from './upstream.entity.ts';
import { type Divergence, remoteDraft, type Sync, sync, syncRequest } from './upstream.schema.ts';

export const setRemote = localStudioOperation({
  name: 'studio.setRemote',
  kind: 'command',
  effect: 'external',
  permission: 'manage_studio',
  freshGrant: true,
  shownOnce: ['hook_secret'],
  summary: 'Make the repository a mirror of one on another git host',
  input: remoteDraft,
  output: repositoryWithHook,
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  async execute(context, draft) {
    const { em, git, services, studio, organization, project } = context;
    checkAuthKind(draft.url, draft.auth);
    // A wrong address or password is refused now, not reported later by a state.
    const there = await services.git.lsRemote({ url: draft.url, auth: draft.auth }, context.signal);
    // The other host can take half a minute to answer.
    await context.renewed();
    // An empty repository begins as the other one does.
    const first = there.default_branch;
    if (first !== null && newRefNameProblem(first) === null && (await git.branches()).length === 0)
      await git.setDefaultBranch(first);
    const { hook_secret } = await em.transactional((within) => storeUpstream({ ...context, em: within }, draft));
    services.grants.evict(`organization:${organization.id}`);
    await studio.upstreams.begin(project);
    const row = await em.findOneOrFail(Project, project.id);
    return { ...(await repositoryRecord(context, row)), hook_secret };
  },
});

export const removeRemote = localStudioOperation({
  name: 'studio.removeRemote',
  kind: 'command',
  permission: 'manage_studio',
  irreversible: true,
  summary: 'Stop mirroring; the repository is then hosted here only',
  input: z.object({}),
  output: repository,
  audit: (_input, _output, { project }) => ({ type: 'repository', id: project }),
  async execute(context) {
    const { em, organization, project } = context;
    if ((await em.nativeDelete(Upstream, { project_id: project.id })) === 0)
      throw new DomainError('not_found', 'This project has no upstream');
    await grantsChanged(em, organization.id);
    return repositoryRecord(context, await em.findOneOrFail(Project, project.id));
  },
});

/** @throws DomainError `upstream_diverged` with what is left to settle */
function refuseDiverged(diverged: readonly Divergence[]): never {
  const names = diverged.map(({ branch }) => branch).join(', ');
  throw new DomainError('upstream_diverged', `${names}: people must bring the two sides together; see details`, {
    details: { diverged, conflicts: diverged.flatMap(({ conflicts }) => conflicts) },
  });
}

/** Whether a branch is, or was, on one of the two sides. */
async function isKnown({ git, em, project }: StudioContext, name: string): Promise<boolean> {
  if ((await git.head(name)) ?? (await git.upstreamHead(name))) return true;
  return (await em.count(UpstreamBranch, { project_id: project.id, name })) > 0;
}

async function currentSync(context: StudioContext, branch: string | undefined): Promise<Sync> {
  const all = await syncOfAll(context);
  if (!all) throw new DomainError('not_found', 'This project has no upstream');
  const left = all.diverged.filter((found) => branch === undefined || found.branch === branch);
  if (left.length > 0) refuseDiverged(left);
  const [one] = branch === undefined ? [all.sync] : ((await syncOf(context, [branch])) ?? []);
  return one ?? all.sync;
}

/** Holds a pass that has waited for the upstream against the rights of now. @throws DomainError as `run()` does */
async function checkRights(context: StudioContext): Promise<void> {
  const { grant } = await context.renewed();
  for (const permission of ['manage_studio', 'delete_studio'] as const)
    if (context.grant.permissions.has(permission)) requirePermission(grant, permission);
}

export const syncRepository = localStudioOperation({
  name: 'studio.syncRepository',
  kind: 'command',
  effect: 'external',
  permission: 'edit_studio',
  also: {
    manage_studio:
      'when resolutions write files outside collections and media, or settle a branch that only pull requests move',
    delete_studio: 'when resolutions delete what neither side has deleted',
  },
  summary: 'Fetch from the upstream, merge and push; resolve diverged branches',
  input: syncRequest,
  output: sync,
  audit: ({ branch }, _output, { project }) => ({ type: 'repository', id: branch ?? project }),
  async execute(context, { branch, resolutions = [] }) {
    const { studio, project, actor, require, signal } = context;
    if (!project.is_mirror) throw new DomainError('not_found', 'This project has no upstream');
    if (branch !== undefined && !(await isKnown(context, checkRefName('branch', branch))))
      throw new DomainError('not_found', `branch: ${branch} is neither here nor, as far as was fetched, there`);
    try {
      await studio.upstreams.run(project, {
        fetch: true,
        push: 'always',
        branches: branch === undefined ? null : [branch],
        // Only a request that names the branch decides to settle it.
        resolutions: branch === undefined && resolutions.length === 0 ? null : resolutions,
        author: actor.author,
        require,
        checkRights: () => checkRights(context),
        signal,
      });
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'merge_conflict') throw error;
      throw new DomainError('upstream_diverged', error.message, { details: error.details ?? {} });
    }
    return currentSync(context, branch);
  },
});

/** Whether `sha256=<hex>` is the HMAC-SHA-256 (RFC 2104) of a body, in the time a comparison of equals takes. */
function isSigned(body: Uint8Array, secret: string, signature: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

interface Names {
  organization: string;
  project: string;
}

/** The project that names stand for, if it has an upstream, and what its notices are signed with. */
async function upstreamNamed(
  services: Services,
  em: EntityManager,
  names: Names,
): Promise<{ project: ProjectRef; secret: string } | null> {
  try {
    const organization = await services.places.organization(() => em, names.organization);
    const { id } = await services.places.project(() => em, organization, names.project);
    const [project, row] = [await loadProject(em, { id }), await em.findOne(Upstream, id)];
    return project && row && { project, secret: await openHookSecret(services, project, row) };
  } catch (error) {
    if (error instanceof DomainError && ['not_found', 'invalid_request'].includes(error.code)) return null;
    throw error;
  }
}

/** Answers do not reveal which projects exist: for unknown names a random secret stands in. */
const decoySecret = randomBytes(32).toString('base64url');

export const noticePush = publicStudioOperation({
  name: 'studio.noticePush',
  kind: 'command',
  effect: 'external',
  permission: 'public',
  summary: 'Receive a push notice of the upstream, signed by X-Hub-Signature-256; its content is ignored',
  input: z.object({ organization: z.string(), project: z.string() }),
  output: z.object({ accepted: z.literal(true) }),
  audit: ({ project }) => ({ type: 'repository', id: project }),
  async execute({ em, services, studio, signed }, names) {
    const stranger = new DomainError(
      'unauthenticated',
      'X-Hub-Signature-256: does not fit the secret of this upstream',
    );
    if (!signed?.signature) throw stranger;
    const found = await upstreamNamed(services, em, names);
    if (!isSigned(signed.body, found?.secret ?? decoySecret, signed.signature) || !found) throw stranger;
    studio.upstreams.notice(found.project);
    return { accepted: true as const };
  },
});
