import { raw } from '@mikro-orm/core';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { roomForPage } from '../../../kernel/paging.ts';
import { Deployment } from '../deployments/deployment.entity.ts';
import { type DeploymentRow, deploymentShown, withoutSettings } from '../deployments/deployment-record.ts';
import { environmentLabel, labelUrl } from '../previews/previews.ts';
import type { StudioContext } from '../studio.ts';
import { Environment } from './environment.entity.ts';
import type { environment, environmentSummary } from './environments.schema.ts';

type Record = z.output<typeof environment>;
type Summary = z.output<typeof environmentSummary>;
type Context = Pick<StudioContext, 'em' | 'services' | 'organization' | 'project'>;

function latestOf({ em }: Context, ids: readonly number[]): Promise<DeploymentRow[]> {
  const newest = raw(
    `id in (select max(id) from deployment where environment_id in (${ids.map(() => '?')}) group by environment_id)`,
    [...ids],
  );
  return em.find(Deployment, { [newest]: [] }, { refresh: true, ...withoutSettings });
}

/** An environment without its variables, which may be large. */
export type EnvironmentRow = Pick<Environment, Exclude<keyof Environment & string, 'variables'>>;

/** What finds such rows. */
export const withoutVariables = { exclude: ['variables'] } as const;

/** Environments without their variables, in the order given. */
export async function environmentSummaries(context: Context, rows: readonly EnvironmentRow[]): Promise<Summary[]> {
  if (rows.length === 0) return [];
  const latest = await latestOf(
    context,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => {
    const newest = latest.find(({ environment_id }) => environment_id === row.id);
    const { uuid: _u, project_id: _p, deploy_hook_secret: _d, followed_sha: _f, version: _v, ...others } = row;
    const { draft_source: _s, previewed_at, ...shown } = others;
    return {
      ...shown,
      draft_preview: previewed_at != null,
      install_command: row.install_command ?? null,
      build_command: row.build_command ?? null,
      deploy_webhook_url: row.deploy_webhook_url ?? null,
      published_deployment_id: row.published_deployment_id ?? null,
      url: row.url ?? (row.provider === 'webhook' ? null : labelUrl(context.services.settings, environmentLabel(row))),
      latest_deployment: newest ? deploymentShown(context, newest, row) : null,
    };
  });
}

/** Environments as callers see them, in the order given. */
async function environmentRecords(context: Context, rows: readonly Environment[]): Promise<Record[]> {
  const summaries = await environmentSummaries(context, rows);
  return rows.map(({ variables }, index) => ({
    ...(summaries[index] as Summary),
    variables: variables.map(({ sealed_at: _, ...variable }) => ({
      ...variable,
      value: variable.secret ? null : variable.value,
    })),
  }));
}

/** Takes room for the variables of environments. @throws like `roomForPage` */
export const roomForVariables = (context: Pick<StudioContext, 'em' | 'room'>, ids: readonly number[]): Promise<void> =>
  roomForPage(context, { table: 'environment', column: 'variables' }, ids);

/** Environments by their ids, in order, when room has been taken for their variables. @throws like `roomForPage` */
export async function readEnvironments(
  context: Context & Pick<StudioContext, 'room'>,
  ids: readonly number[],
): Promise<Record[]> {
  await roomForVariables(context, ids);
  const where = { id: { $in: [...ids] } };
  const rows = await context.em.find(Environment, where, { orderBy: { id: 'asc' }, disableIdentityMap: true });
  return environmentRecords(context, rows as Environment[]);
}

/** One environment as callers see it. */
export async function environmentRecord(context: Context, row: Environment): Promise<Record> {
  const [record] = await environmentRecords(context, [row]);
  return record as Record;
}

const unknown = (id: number) => new DomainError('not_found', `Environment ${id} not found`);

/** @throws DomainError `not_found` */
export async function findEnvironment(
  { em, project }: Pick<Context, 'em' | 'project'>,
  id: number,
): Promise<Environment> {
  const row = await em.findOne(Environment, { id, project_id: project.id }, { refresh: true });
  if (row) return row;
  throw unknown(id);
}

/** The same without its variables, for what does not go by them. @throws DomainError `not_found` */
export async function locateEnvironment(
  { em, project }: Pick<Context, 'em' | 'project'>,
  id: number,
): Promise<EnvironmentRow> {
  const row = await em.findOne(Environment, { id, project_id: project.id }, { refresh: true, ...withoutVariables });
  if (row) return row;
  throw unknown(id);
}
