import { raw } from '@mikro-orm/core';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { Deployment } from '../deployments/deployment.entity.ts';
import { deploymentShown } from '../deployments/deployment-record.ts';
import { environmentLabel, labelUrl } from '../previews/previews.ts';
import type { StudioContext } from '../studio.ts';
import { Environment } from './environment.entity.ts';
import type { environment } from './environments.schema.ts';

type Record = z.output<typeof environment>;
type Context = Pick<StudioContext, 'em' | 'services' | 'organization' | 'project'>;

function latestOf({ em }: Context, ids: readonly number[]): Promise<Deployment[]> {
  const newest = raw(
    `id in (select max(id) from deployment where environment_id in (${ids.map(() => '?')}) group by environment_id)`,
    [...ids],
  );
  return em.find(Deployment, { [newest]: [] }, { refresh: true });
}

/** Environments as callers see them, in the order given. */
export async function environmentRecords(context: Context, rows: readonly Environment[]): Promise<Record[]> {
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
      variables: row.variables.map(({ sealed_at: _, ...variable }) => ({
        ...variable,
        value: variable.secret ? null : variable.value,
      })),
      latest_deployment: newest ? deploymentShown(context, newest, row) : null,
    };
  });
}

/** One environment as callers see it. */
export async function environmentRecord(context: Context, row: Environment): Promise<Record> {
  const [record] = await environmentRecords(context, [row]);
  return record as Record;
}

/** @throws DomainError `not_found` */
export async function findEnvironment(
  { em, project }: Pick<Context, 'em' | 'project'>,
  id: number,
): Promise<Environment> {
  const row = await em.findOne(Environment, { id, project_id: project.id }, { refresh: true });
  if (row) return row;
  throw new DomainError('not_found', `Environment ${id} not found`);
}
