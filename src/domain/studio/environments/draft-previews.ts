/**
 * Draft previews: environments that `previewBranch` makes for branches, each a copy of the one environment that manage_studio has named
 * (`draft_preview` of the repository's settings). The branch belongs to an editor, and a build runs what is in it. So a copy has only those secret
 * variables that are marked `available_in_drafts`, sealed as its own, nothing of an external provider, and no part in the package caches of other
 * environments. It is shown to members only.
 *
 * Copies follow: they are written anew when the named environment changes or another one is named, and deleted when none is, so that a secret that loses
 * its mark is in no later build. A copy cannot be changed by itself. It is deleted with its branch, and after 14 days in which it was neither deployed
 * to nor requested with `previewBranch`; visits do not count.
 */
import type { EntityManager } from '@mikro-orm/postgresql';
import { fieldError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { loadProject } from '../../projects/project-ref.ts';
import type { BranchFollower } from '../repository/branches-moved.ts';
import type { StudioContext } from '../studio.ts';
import { Environment } from './environment.entity.ts';
import { openVariables, sealVariables } from './environment-secrets.ts';

const idleDays = 14;

type Context = Pick<StudioContext, 'em' | 'services' | 'project'>;

export const isDraftPreview = ({ previewed_at }: Pick<Environment, 'previewed_at'>): boolean => previewed_at != null;
export const areDraftPreviews = { previewed_at: { $ne: null } } as const;

/** The environment that draft previews are copies of; null: none is named. */
export const draftSourceOf = ({ em, project }: Pick<Context, 'em' | 'project'>): Promise<Environment | null> =>
  em.findOne(Environment, { project_id: project.id, draft_source: true }, { refresh: true });

/**
 * Checks that draft previews can be copies of an environment.
 * @param field of the input that would make it one
 * @throws DomainError `validation_failed`
 */
export function checkDraftSource(field: string, environment: Environment): void {
  if (isDraftPreview(environment))
    throw fieldError('validation_failed', field, `environment ${environment.name} is a draft preview itself`);
  if (environment.provider === 'webhook')
    throw fieldError(
      'validation_failed',
      field,
      `draft previews are built here, so environment ${environment.name}, which they are copies of, cannot be published by an external provider`,
    );
}

/** What a draft preview has of the environment it is a copy of. */
export async function copyOf(
  { services, project }: Pick<Context, 'services' | 'project'>,
  source: Environment,
  copy: Pick<Environment, 'uuid' | 'version'>,
) {
  const { provider, root_directory, output_directory, network, timeout_seconds } = source;
  const passed = source.variables.filter(({ secret, available_in_drafts }) => !secret || available_in_drafts);
  const opened = await openVariables(services, project, source.uuid, passed);
  return {
    provider,
    root_directory,
    install_command: source.install_command ?? null,
    build_command: source.build_command ?? null,
    output_directory,
    network,
    timeout_seconds,
    variables: await sealVariables(services, project, { ...copy, variables: [] }, opened),
  };
}

/** Copies an environment to all draft previews of its project. @param source null deletes them */
export async function followDraftSource(context: Context, source: Environment | null): Promise<void> {
  const { em, services, project } = context;
  const all = { project_id: project.id, ...areDraftPreviews };
  if (source === null) {
    await em.nativeDelete(Environment, all);
    return;
  }
  for (const row of await em.find(Environment, all, { refresh: true })) {
    const version = row.version + 1;
    const copied = await copyOf(context, source, { uuid: row.uuid, version });
    em.assign(row, { ...copied, version, updated_at: services.clock.now() });
  }
  await em.flush();
}

/**
 * Names the environment that draft previews are copies of.
 * @param id null: none
 * @throws DomainError `not_found`, `validation_failed`
 */
export async function nameDraftSource(context: Context, id: number | null): Promise<void> {
  const { em, project } = context;
  const before = await draftSourceOf(context);
  if (id === (before?.id ?? null)) return;
  const source = id === null ? null : await em.findOne(Environment, { id, project_id: project.id }, { refresh: true });
  if (id !== null && source === null) throw fieldError('not_found', 'draft_preview', `environment ${id} not found`);
  if (source) checkDraftSource('draft_preview', source);
  if (before) before.draft_source = false;
  // A unique index allows one at any moment.
  await em.flush();
  if (source) source.draft_source = true;
  await em.flush();
  await followDraftSource(context, source);
}

/** Deletes those of some draft previews whose branches are gone. */
async function removeWithoutBranch(
  { git }: Pick<Services, 'git'>,
  em: EntityManager,
  { uuid }: Pick<ProjectRef, 'uuid'>,
  previews: readonly Pick<Environment, 'id' | 'branch'>[],
): Promise<void> {
  const repository = git.open(uuid);
  for (const { id, branch } of previews)
    if ((await repository.head(branch)) === null) await em.nativeDelete(Environment, { id, ...areDraftPreviews });
}

/** Deletes draft previews of branches that are gone, by whatever way. */
export const forgetDraftPreviews: BranchFollower = async (services, project, branches) => {
  const em = services.orm.em.fork();
  const where = { project_id: project.id, branch: { $in: [...branches] }, ...areDraftPreviews };
  await removeWithoutBranch(services, em, project, await em.find(Environment, where, { fields: ['branch'] }));
};

/** Deletes draft previews that are not used any more, and those whose branch went without notice. */
export async function removeUnusedDraftPreviews(services: Services): Promise<void> {
  const { orm, clock, log } = services;
  const em = orm.em.fork();
  const before = new Date(clock.now().getTime() - idleDays * 24 * 3600_000);
  await em.execute(
    `delete from environment where previewed_at < ?
       and not exists (select 1 from deployment where environment_id = environment.id and created_at >= ?)`,
    [before, before],
  );
  const left = await em.find(Environment, areDraftPreviews, { fields: ['project_id', 'branch'] });
  for (const [id, previews] of Map.groupBy(left, ({ project_id }) => project_id)) {
    try {
      const project = await loadProject(orm.em.fork(), { id });
      if (project) await removeWithoutBranch(services, em, project, previews);
    } catch (err) {
      log.warn({ err, project: id }, 'draft previews of a project not looked at');
    }
  }
}
