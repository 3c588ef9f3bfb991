import { z } from 'zod';
import { projectOperation } from '../operation.ts';
import { findPage, pageInput, pageOf } from '../paging.ts';
import { storedText } from '../shapes.ts';
import { holding } from '../text-pattern.ts';
import { findWorkflow } from './find-workflow.ts';
import { reading } from './save-definition.ts';
import { Workflow } from './workflow.entity.ts';
import { definitionFault, definitionSource, workflow, workflowId, workflowSummary } from './workflow.schema.ts';
import { workflowRecord, workflowSummaries, workflowTag } from './workflow-record.ts';

export const listWorkflows = projectOperation({
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

export const getWorkflow = projectOperation({
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

export const validateWorkflow = projectOperation({
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
