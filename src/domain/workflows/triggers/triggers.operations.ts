import { randomUUID } from 'node:crypto';
import { raw } from '@mikro-orm/core';
import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { findPage, pageOf, wholePageInput, wholeWindowOf } from '../../../kernel/paging.ts';
import { isUuid } from '../../../lib/ids.ts';
import { defined } from '../../../lib/objects.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { firesOfTiming } from '../../schedules/next-fires.ts';
import { ScheduleFire } from '../../schedules/schedule-fire.entity.ts';
import type { Workflow } from '../workflow.entity.ts';
import { workflowId } from '../workflow.schema.ts';
import { findWorkflow } from '../workflow-record.ts';
import { workflowOperation } from '../workflows.ts';
import { newTriggerSecret, sealSecret } from './sealed-secret.ts';
import { WorkflowTrigger } from './trigger.entity.ts';
import { maxCronTriggers, triggerChange, triggerDraft, triggerName, workflowTrigger } from './trigger.schema.ts';
import { triggerRecord, triggerRecords } from './trigger-record.ts';

/**
 * A trigger of a workflow of the project. `lock` holds its row until the transaction ends; calls that are being accepted are waited for.
 * @throws DomainError `not_found`, also for ids that cannot exist
 */
export async function findTrigger(
  context: Pick<ProjectContext, 'em' | 'project'>,
  names: { workflow: string; trigger: string },
  { lock = false }: { lock?: boolean } = {},
): Promise<{ workflow: Workflow; trigger: WorkflowTrigger }> {
  const { em } = context;
  const workflow = await findWorkflow(context, names.workflow);
  if (isUuid(names.trigger)) {
    if (lock) await em.execute('select id from workflow_trigger where id = ? for update', [names.trigger]);
    const where = { id: names.trigger, workflow_id: workflow.id, deleted_at: null };
    const trigger = await em.findOne(WorkflowTrigger, where, { refresh: true });
    if (trigger) return { workflow, trigger };
  }
  throw new DomainError('not_found', 'Trigger not found');
}

/** The same, where it is only read. @throws DomainError `not_found` */
export async function readTrigger(
  { em, project }: Pick<ProjectContext, 'em' | 'project'>,
  { workflow, trigger: id }: { workflow: string; trigger: string },
): Promise<WorkflowTrigger> {
  const named = [workflow, id].every((each) => isUuid(each));
  const isAlive = raw(
    'exists (select 1 from workflow where id = workflow_id and project_id = ? and deleted_at is null)',
    [project.id],
  );
  const where = { id, workflow_id: workflow, deleted_at: null, [isAlive]: [] };
  const trigger = named ? await em.findOne(WorkflowTrigger, where, { refresh: true }) : null;
  if (trigger) return trigger;
  await findWorkflow({ em, project }, workflow);
  throw new DomainError('not_found', 'Trigger not found');
}

export const listTriggers = workflowOperation({
  name: 'workflows.listTriggers',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'List the triggers of a workflow, the newest first',
  input: z.object({ ...workflowId, ...wholePageInput }),
  output: pageOf(workflowTrigger),
  async execute(context, { workflow, ...paging }) {
    const { id: workflow_id } = await findWorkflow(context, workflow);
    const { rows, asPage } = await findPage(
      context.em,
      wholeWindowOf(paging),
      WorkflowTrigger,
      { workflow_id, deleted_at: null },
      { orderBy: { created_at: 'desc', id: 'desc' } },
    );
    return asPage(await triggerRecords(context, rows));
  },
});

export const getTrigger = workflowOperation({
  name: 'workflows.getTrigger',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'Get one trigger',
  input: z.object(triggerName),
  output: workflowTrigger,
  async execute(context, input) {
    return triggerRecord(context, await readTrigger(context, input));
  },
});

const fieldsOf = {
  webhook: ['auth_mode', 'methods', 'rate_limit'],
  cron: ['schedule_cron_string', 'timezone'],
} as const;

/** @throws DomainError `validation_failed` for a field that only triggers of the other type have */
function requireOwnFields(type: 'webhook' | 'cron', given: Record<string, unknown>): void {
  const other = type === 'webhook' ? 'cron' : 'webhook';
  for (const field of fieldsOf[other])
    if (given[field] !== undefined)
      throw fieldError('validation_failed', field, `is only for triggers of type ${other}`);
}

async function nextFire(
  { em, services }: ProjectContext,
  row: Pick<WorkflowTrigger, 'enabled' | 'timezone' | 'schedule_cron_string'>,
) {
  const { enabled, schedule_cron_string, timezone } = row;
  if (!enabled || schedule_cron_string == null) return null;
  const now = await services.sharedClock.now(em);
  return firesOfTiming({ schedule_cron_string, timezone: timezone ?? 'UTC' }).after(now);
}

/** @throws DomainError `already_exists`, `limit_reached` */
async function requireCapacity({ em }: ProjectContext, workflow_id: string, type: 'webhook' | 'cron'): Promise<void> {
  const count = await em.count(WorkflowTrigger, { workflow_id, type, deleted_at: null });
  if (type === 'webhook' && count > 0)
    throw new DomainError(
      'already_exists',
      'A workflow has at most one webhook trigger, because its URL names the workflow',
    );
  if (count >= maxCronTriggers)
    throw new DomainError('limit_reached', `A workflow has at most ${maxCronTriggers} cron triggers; delete one first`);
}

export const createTrigger = workflowOperation({
  name: 'workflows.createTrigger',
  kind: 'command',
  permission: 'edit_workflows',
  notInSteps: true,
  summary: 'Create a trigger of a workflow; a webhook trigger gets its secret',
  input: triggerDraft,
  output: workflowTrigger,
  audit: (_input, output) => ({ type: 'workflow_trigger', id: output?.id ?? null }),
  async execute(context, { workflow: name, type, ...draft }) {
    const { em, organization, services } = context;
    const workflow = await findWorkflow(context, name, { lock: true });
    requireOwnFields(type, draft);
    if (type === 'cron' && draft.schedule_cron_string === undefined)
      throw fieldError('validation_failed', 'schedule_cron_string', 'is required for a trigger of type cron');
    await requireCapacity(context, workflow.id, type);
    const id = randomUUID();
    const now = services.clock.now();
    const enabled = draft.enabled ?? true;
    const timing =
      type === 'cron'
        ? { schedule_cron_string: draft.schedule_cron_string ?? null, timezone: draft.timezone ?? 'UTC' }
        : { schedule_cron_string: null, timezone: null };
    const row = em.create(WorkflowTrigger, {
      id,
      workflow_id: workflow.id,
      type,
      enabled,
      auth_mode: type === 'webhook' ? (draft.auth_mode ?? 'secret') : null,
      methods: draft.methods ?? null,
      rate_limit: draft.rate_limit ?? null,
      secret_version: type === 'webhook' ? 1 : 0,
      secret: type === 'webhook' ? await sealSecret(services, organization.id, id, 1, newTriggerSecret()) : null,
      ...timing,
      next_fire_at: await nextFire(context, { enabled, ...timing }),
      created_at: now,
      updated_at: now,
    });
    await em.persist(row).flush();
    return triggerRecord(context, row);
  },
});

export const updateTrigger = workflowOperation({
  name: 'workflows.updateTrigger',
  kind: 'command',
  permission: 'edit_workflows',
  notInSteps: true,
  summary: 'Change a trigger',
  input: triggerChange,
  output: workflowTrigger,
  audit: ({ trigger }) => ({ type: 'workflow_trigger', id: trigger }),
  async execute(context, { workflow, trigger, ...change }) {
    const { em, services } = context;
    const { trigger: row } = await findTrigger(context, { workflow, trigger }, { lock: true });
    requireOwnFields(row.type, change);
    const given = defined(change);
    if (given.timezone === null) given.timezone = 'UTC';
    em.assign(row, { ...given, updated_at: services.clock.now() } as Partial<WorkflowTrigger>);
    const retimed = ['enabled', 'schedule_cron_string', 'timezone'].some((field) => field in given);
    if (retimed) row.next_fire_at = await nextFire(context, row);
    await em.flush();
    return triggerRecord(context, row);
  },
});

export const deleteTrigger = workflowOperation({
  name: 'workflows.deleteTrigger',
  kind: 'command',
  permission: 'delete_workflows',
  notInSteps: true,
  irreversible: true,
  summary: 'Delete a trigger and its secret; executions it started continue',
  input: z.object(triggerName),
  output: workflowTrigger,
  audit: ({ trigger }) => ({ type: 'workflow_trigger', id: trigger }),
  async execute(context, input) {
    const { em, services } = context;
    const { trigger } = await findTrigger(context, input, { lock: true });
    const deleted = await triggerRecord(context, trigger);
    em.assign(trigger, { secret: null, previous_secret: null, next_fire_at: null, deleted_at: services.clock.now() });
    await em.flush();
    await em.nativeDelete(ScheduleFire, { source: 'workflow', source_id: trigger.id });
    return deleted;
  },
});
