import type { z } from 'zod';
import type { Permission } from '../../kernel/actor.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { Settings } from '../../kernel/services.ts';
import { isUuid } from '../../lib/ids.ts';
import type { ProjectContext } from '../projects/operation.ts';
import { Workflow, WorkflowVersion } from './workflow.entity.ts';
import type { workflow, workflowSummary } from './workflow.schema.ts';

/**
 * A workflow of the project by its id; `lock` holds its row until the transaction ends, `shared` with others who only need it to stay.
 * @throws DomainError `not_found`, also for ids that cannot exist
 */
export async function findWorkflow(
  { em, project }: Pick<ProjectContext, 'em' | 'project'>,
  id: string,
  { lock = false }: { lock?: boolean | 'shared' } = {},
): Promise<Workflow> {
  if (isUuid(id)) {
    const held = lock === 'shared' ? 'share' : 'update';
    if (lock) await em.execute(`select id from workflow where id = ? for ${held}`, [id]);
    const row = await em.findOne(Workflow, { id, project_id: project.id, deleted_at: null }, { refresh: true });
    if (row) return row;
  }
  throw new DomainError('not_found', 'Workflow not found');
}

/** Where outside services call a workflow with a webhook trigger. */
export const webhookUrl = ({ public_url }: Pick<Settings, 'public_url'>, workflowId: string): string =>
  `${public_url}/webhooks/ai/workflows/${workflowId}`;

type Context = Pick<ProjectContext, 'em' | 'services'>;
type Summary = z.output<typeof workflowSummary>;

interface Facts {
  permissions: Permission[];
  has_webhook: boolean;
  last_id: string | null;
  last_status: NonNullable<Summary['last_execution']>['status'];
  last_created_at: Date;
  last_finished_at: Date | null;
}

const factsQuery = (count: number) => `
  select w.id, v.permissions, last.id as last_id, last.status as last_status,
    last.created_at as last_created_at, last.finished_at as last_finished_at,
    exists (select 1 from workflow_trigger t
      where t.workflow_id = w.id and t.type = 'webhook' and t.deleted_at is null) as has_webhook
  from workflow w
    join workflow_version v on v.workflow_id = w.id and v.number = w.version
    left join lateral (
      select id, status, created_at, finished_at from execution
      where workflow_id = w.id order by created_at desc, id desc limit 1
    ) last on true
  where w.id in (${Array(count).fill('?').join(', ')})`;

/** Workflows as lists show them, in the order given. */
export async function workflowSummaries({ em, services }: Context, rows: readonly Workflow[]): Promise<Summary[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const found = (await em.execute(factsQuery(ids.length), ids)) as (Facts & { id: string })[];
  const facts = new Map(found.map((each) => [each.id, each]));
  return rows.map((row) => {
    const { project_id: _project, ...shown } = row;
    const fact = facts.get(row.id);
    return {
      ...shown,
      description: row.description ?? null,
      deleted_at: row.deleted_at ?? null,
      permissions: fact?.permissions ?? [],
      webhook_url: fact?.has_webhook ? webhookUrl(services.settings, row.id) : null,
      last_execution: fact?.last_id
        ? {
            id: fact.last_id,
            status: fact.last_status,
            created_at: new Date(fact.last_created_at),
            finished_at: fact.last_finished_at === null ? null : new Date(fact.last_finished_at),
          }
        : null,
    };
  });
}

/** One workflow with its published definition. */
export async function workflowRecord(context: Context, row: Workflow): Promise<z.output<typeof workflow>> {
  const [summary] = await workflowSummaries(context, [row]);
  const version = await context.em.findOneOrFail(WorkflowVersion, { workflow_id: row.id, number: row.version });
  return { ...(summary as Summary), definition: version.definition as never, source: version.source };
}

/** The version of a workflow that preconditions name (RFC 9110 8.8.3). */
export const workflowTag = ({ latest_version }: Workflow): string => `"${latest_version}"`;
