import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { storedText } from '../../kernel/shapes.ts';
import { holding } from '../../lib/text.ts';
import type { ProjectContext } from '../projects/operation.ts';
import { holdProject } from '../projects/project-ref.ts';
import type { DefinitionFault } from './definition/read-definition.ts';
import { cancelAll } from './executions/cancel-execution.ts';
import { addVersion, reading, requireDefinition, requireHeld } from './save-definition.ts';
import { Workflow, WorkflowVersion } from './workflow.entity.ts';
import {
  definitionFault,
  definitionSource,
  maxWorkflows,
  workflow,
  workflowChange,
  workflowDraft,
  workflowId,
  workflowSummary,
} from './workflow.schema.ts';
import { findWorkflow, workflowRecord, workflowSummaries, workflowTag } from './workflow-record.ts';
import { workflowOperation } from './workflows.ts';

export const listWorkflows = workflowOperation({
  name: 'workflows.listWorkflows',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'List workflows',
  input: z.object({
    ...pageInput,
    enabled: z.boolean().optional(),
    q: storedText(200).optional().describe('Part of the name or description'),
  }),
  output: pageOf(workflowSummary),
  async execute(context, { enabled, q, ...paging }) {
    const { em, project } = context;
    const { rows, asPage } = await findPage(
      em,
      paging,
      Workflow,
      {
        project_id: project.id,
        deleted_at: null,
        ...(enabled !== undefined && { enabled }),
        ...(q && { $or: [{ name: { $ilike: holding(q) } }, { description: { $ilike: holding(q) } }] }),
      },
      { orderBy: { created_at: 'desc', id: 'desc' } },
    );
    return asPage(await workflowSummaries(context, rows));
  },
});

export const getWorkflow = workflowOperation({
  name: 'workflows.getWorkflow',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'Get one workflow with its published definition',
  input: z.object(workflowId),
  output: workflow,
  async execute(context, input) {
    const row = await findWorkflow(context, input.workflow);
    const record = await workflowRecord(context, row);
    context.tag(workflowTag(row));
    return record;
  },
});

export const validateWorkflow = workflowOperation({
  name: 'workflows.validateWorkflow',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'Validate a definition without saving it',
  input: z.object({
    workflow: workflowId.workflow
      .optional()
      .describe('The workflow it is for, whose secrets are known; default: a new workflow without secrets'),
    definition: definitionSource,
  }),
  output: z
    .object({ valid: z.boolean(), errors: z.array(definitionFault), warnings: z.array(definitionFault) })
    .meta({ id: 'DefinitionCheck' }),
  async execute(context, { workflow: id, definition }) {
    const row = id === undefined ? null : await findWorkflow(context, id);
    const { errors, warnings } = await reading(context, definition, row);
    return { valid: errors.length === 0, errors, warnings };
  },
});

const subject = (_input: unknown, output: { id: string } | null) => ({ type: 'workflow', id: output?.id ?? null });

export const createWorkflow = workflowOperation({
  name: 'workflows.createWorkflow',
  kind: 'command',
  permission: 'edit_workflows',
  freshGrant: true,
  notInSteps: true,
  givesTag: true,
  summary: 'Create a workflow',
  input: workflowDraft,
  output: workflow,
  audit: subject,
  async execute(context, { name, description, definition: source, enabled }) {
    const { em, project, services } = context;
    const { text, definition, warnings } = await requireDefinition(context, source, null);
    requireHeld(context, definition.permissions ?? []);
    await holdProject(em, project.id);
    if ((await em.count(Workflow, { project_id: project.id, deleted_at: null })) >= maxWorkflows)
      throw new DomainError('limit_reached', `A project has at most ${maxWorkflows} workflows; delete one first`);
    const now = services.clock.now();
    const row = em.create(Workflow, {
      id: randomUUID(),
      project_id: project.id,
      name,
      description: description ?? null,
      enabled: enabled ?? true,
      version: 0,
      latest_version: 0,
      created_at: now,
      updated_at: now,
    });
    await addVersion(context, row, text, definition);
    context.tag(workflowTag(row));
    return { ...(await workflowRecord(context, row)), ...(warnings.length > 0 && { warnings }) };
  },
});

/** @throws DomainError `precondition_failed` for If-Match, `version_mismatch` for `base_version` */
function requireCurrent({ conditions }: Pick<ProjectContext, 'conditions'>, row: Workflow, base: number | undefined) {
  const current = workflowTag(row);
  if (conditions.if_match !== undefined && conditions.if_match !== '*' && conditions.if_match !== current)
    throw new DomainError('precondition_failed', `If-Match: the workflow is at version ${row.latest_version} by now`);
  if (base !== undefined && base !== row.latest_version)
    throw new DomainError('version_mismatch', `base_version: the workflow is at version ${row.latest_version} by now`);
}

export const updateWorkflow = workflowOperation({
  name: 'workflows.updateWorkflow',
  kind: 'command',
  permission: 'edit_workflows',
  freshGrant: true,
  notInSteps: true,
  comparesTag: true,
  givesTag: true,
  summary: 'Change a workflow; a changed definition becomes its next version',
  input: workflowChange,
  output: workflow,
  audit: (input) => ({ type: 'workflow', id: input.workflow }),
  async execute(context, { workflow: id, definition: source, publish, base_version, ...change }) {
    const { em, services } = context;
    const row = await findWorkflow(context, id, { lock: true });
    requireCurrent(context, row, base_version);
    let faults: DefinitionFault[] = [];
    if (source !== undefined) {
      const { text, definition, warnings } = await requireDefinition(context, source, row);
      faults = warnings;
      requireHeld(context, definition.permissions ?? []);
      const latest = await em.findOneOrFail(WorkflowVersion, { workflow_id: row.id, number: row.latest_version });
      if (latest.source !== text)
        await addVersion(context, row, text, definition, publish === undefined ? {} : { publish });
    }
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    if (Object.keys(given).length > 0) em.assign(row, { ...given, updated_at: services.clock.now() });
    await em.flush();
    context.tag(workflowTag(row));
    return { ...(await workflowRecord(context, row)), ...(faults.length > 0 && { warnings: faults }) };
  },
});

const setEnabled = async (context: ProjectContext, id: string, enabled: boolean) => {
  const row = await findWorkflow(context, id, { lock: true });
  if (row.enabled !== enabled) {
    row.enabled = enabled;
    row.updated_at = context.services.clock.now();
    await context.em.flush();
  }
  return workflowRecord(context, row);
};

export const enableWorkflow = workflowOperation({
  name: 'workflows.enableWorkflow',
  kind: 'command',
  permission: 'edit_workflows',
  summary: 'Enable the triggers of a workflow',
  input: z.object(workflowId),
  output: workflow,
  audit: (input) => ({ type: 'workflow', id: input.workflow }),
  execute: (context, input) => setEnabled(context, input.workflow, true),
});

export const disableWorkflow = workflowOperation({
  name: 'workflows.disableWorkflow',
  kind: 'command',
  permission: 'edit_workflows',
  summary: 'Disable the triggers of a workflow; running executions continue',
  input: z.object(workflowId),
  output: workflow,
  audit: (input) => ({ type: 'workflow', id: input.workflow }),
  execute: (context, input) => setEnabled(context, input.workflow, false),
});

export const deleteWorkflow = workflowOperation({
  name: 'workflows.deleteWorkflow',
  kind: 'command',
  permission: 'delete_workflows',
  freshGrant: true,
  notInSteps: true,
  irreversible: true,
  summary: 'Delete a workflow; its open executions are cancelled',
  input: z.object(workflowId),
  output: workflow,
  audit: ({ workflow }) => ({ type: 'workflow', id: workflow }),
  async execute(context, { workflow }) {
    const { em, services } = context;
    const row = await findWorkflow(context, workflow, { lock: true });
    const now = services.clock.now();
    row.deleted_at = now;
    await em.flush();
    await cancelAll(em, now, row.id, { reason: 'workflow_deleted', by: context.actor.id });
    return workflowRecord(context, row);
  },
});
