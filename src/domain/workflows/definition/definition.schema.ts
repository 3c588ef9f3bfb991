import { z } from 'zod';
import { permissionNames } from '../../../kernel/actor.ts';
import { jsonValue } from '../../../kernel/shapes.ts';
import { step } from '../step-types.ts';
import { day, duration } from './duration.ts';

/** A definition of a workflow, version 1 of the format. Unknown keys are errors at every depth. */
export const workflowDefinition = z.strictObject({
  portico: z.literal('workflow/1', 'must be "workflow/1"'),
  name: z.string().trim().min(1).max(200).optional(),
  description: z.string().max(10_000).optional(),
  /** JSONata: false ends an execution at once, as skipped. */
  when: z.string().min(1).optional(),
  /** JSON Schema of the input. */
  input_schema: z.record(z.string(), jsonValue).optional(),
  variables: z.record(z.string(), jsonValue).optional(),
  permissions: z.array(z.enum(permissionNames)).max(permissionNames.length).optional(),
  concurrency: z.strictObject({ limit: z.int().min(1).max(100), key: z.string().min(1).optional() }).optional(),
  timeout: duration(31 * day).optional(),
  steps: z.array(step).min(1, 'needs a step'),
  on_failure: z.array(step).min(1, 'needs a step').optional(),
  output: jsonValue.optional(),
});

export type WorkflowDefinition = z.output<typeof workflowDefinition>;
