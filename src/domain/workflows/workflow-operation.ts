import type { Extension } from '../../kernel/operation.ts';
import { projectOperation } from '../projects/operation.ts';
import type { WorkflowsRuntime } from './workflows.ts';

const workflows: Extension<'project', { workflows: WorkflowsRuntime }, { workflows: WorkflowsRuntime }> = {
  provide: ({ workflows }) => ({ workflows }),
};

/** An operation of the workflows of one project. */
export const workflowOperation = projectOperation.with(workflows);
