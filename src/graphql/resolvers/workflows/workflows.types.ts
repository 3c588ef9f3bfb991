import type { ClassType } from 'type-graphql';
import { getWorkflow } from '../../../domain/workflows/workflows.operations.ts';
import { outputOf } from '../../types/operations.ts';
import type { Placed, ProjectArgs } from '../places.ts';

export const Workflow: ClassType = outputOf(getWorkflow);

export type WorkflowParent = Placed<ProjectArgs> & { id: string };
