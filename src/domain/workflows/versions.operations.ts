import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { actorNames } from '../identity/actor-names.ts';
import type { ProjectContext } from '../projects/operation.ts';
import { requireHeld } from './save-definition.ts';
import { type Workflow, WorkflowVersion } from './workflow.entity.ts';
import { versionSummary, workflow, workflowId, workflowVersion } from './workflow.schema.ts';
import { findWorkflow, workflowRecord } from './workflow-record.ts';
import { workflowOperation } from './workflows.ts';

const versionNumber = { ...workflowId, number: z.int32().min(1).describe('Number of the version') };

/** @throws DomainError `not_found` */
async function findVersion(
  { em }: Pick<ProjectContext, 'em'>,
  row: Workflow,
  number: number,
): Promise<WorkflowVersion> {
  const version = await em.findOne(WorkflowVersion, { workflow_id: row.id, number });
  if (version) return version;
  throw new DomainError('not_found', 'Version not found');
}

async function shown(
  context: Pick<ProjectContext, 'em' | 'organization'>,
  versions: readonly Pick<WorkflowVersion, 'number' | 'permissions' | 'created_by' | 'created_at'>[],
  row: Workflow,
) {
  const nameOf = await actorNames(
    context,
    versions.map(({ created_by }) => created_by),
  );
  return versions.map(({ number, permissions, created_by, created_at }) => ({
    number,
    published: number === row.version,
    permissions,
    created_by,
    created_by_name: nameOf(created_by),
    created_at,
  }));
}

export const listVersions = workflowOperation({
  name: 'workflows.listVersions',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'List the versions of a workflow, newest first',
  input: z.object({ ...workflowId, ...pageInput }),
  output: pageOf(versionSummary),
  async execute(context, { workflow: id, ...paging }) {
    const row = await findWorkflow(context, id);
    const { rows: versions, asPage } = await findPage(
      context.em,
      paging,
      WorkflowVersion,
      { workflow_id: row.id },
      { orderBy: { number: 'desc' }, exclude: ['source', 'definition'] },
    );
    return asPage(await shown(context, versions, row));
  },
});

export const getVersion = workflowOperation({
  name: 'workflows.getVersion',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'Get one version of a workflow; as YAML, its text with comments',
  input: z.object(versionNumber),
  output: workflowVersion,
  async execute(context, input) {
    const row = await findWorkflow(context, input.workflow);
    const version = await findVersion(context, row, input.number);
    const [summary] = await shown(context, [version], row);
    const { source, definition } = version;
    return { ...(summary as z.output<typeof versionSummary>), source, definition: definition as never };
  },
});

export const publishVersion = workflowOperation({
  name: 'workflows.publishVersion',
  kind: 'command',
  permission: 'edit_workflows',
  freshGrant: true,
  notInSteps: true,
  summary: 'Publish a version of a workflow for new executions',
  input: z.object(versionNumber),
  output: workflow,
  audit: (input) => ({ type: 'workflow', id: input.workflow }),
  async execute(context, input) {
    const { em, services } = context;
    const row = await findWorkflow(context, input.workflow, { lock: true });
    const version = await findVersion(context, row, input.number);
    requireHeld(context, version.permissions);
    if (row.version !== version.number) {
      row.version = version.number;
      row.updated_at = services.clock.now();
      await em.flush();
    }
    return workflowRecord(context, row);
  },
});
