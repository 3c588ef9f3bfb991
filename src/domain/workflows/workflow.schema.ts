import { z } from 'zod';
import {
  changeOf,
  displayName,
  fieldFault,
  freeObject,
  jsonValue,
  permissionName,
  storedText,
  timestamp,
} from '../../kernel/shapes.ts';
import { actorName } from '../identity/actor-names.ts';

export const maxWorkflows = 1_000;
export const maxSecrets = 50;
export const maxSecretBytes = 16 * 1024;

/** What a workflow, a version or a secret is named by in paths. */
export const workflowId = {
  workflow: z.string().max(100).describe('Id of the workflow'),
};

/** The text of a definition, YAML or JSON; an object is the same as its JSON, and judged as that: once, and by its size first. */
export const definitionSource = z
  .union([z.string(), freeObject])
  .describe('The definition: text in YAML or JSON, or an object');

const description = storedText(10_000);

export const workflowDraft = z.object({
  name: displayName,
  description: description.nullable().optional(),
  definition: definitionSource,
  enabled: z.boolean().optional().describe('Default true'),
});

export const workflowChange = changeOf({
  ...workflowId,
  name: displayName.optional(),
  description: description.nullable().optional(),
  definition: definitionSource.optional(),
  enabled: z.boolean().optional(),
  publish: z
    .boolean()
    .optional()
    .describe('Whether a changed definition is published for new executions; default true'),
  base_version: z
    .int32()
    .min(1)
    .optional()
    .describe('The latest version when it was read; 409 when there is a newer one'),
});

export const executionStatus = z
  .enum(['pending', 'running', 'paused', 'completed', 'failed', 'cancelled'])
  .meta({ id: 'ExecutionStatus' });

/** What lists say of a workflow. */
export const workflowSummary = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    enabled: z.boolean(),
    version: z.int32().describe('The published version'),
    latest_version: z.int32(),
    permissions: z.array(permissionName).describe('What its steps may do, by the published version'),
    webhook_url: z.string().nullable(),
    last_execution: z
      .object({ id: z.string(), status: executionStatus, created_at: timestamp, finished_at: timestamp.nullable() })
      .meta({ id: 'WorkflowLastExecution' })
      .nullable(),
    created_at: timestamp,
    updated_at: timestamp,
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'WorkflowSummary' });

/** One workflow with the definition that is published. */
export const workflow = workflowSummary
  .extend({
    definition: z.record(z.string(), jsonValue),
    source: z.string().describe('The definition as it was written'),
    warnings: z
      .array(fieldFault)
      .optional()
      .describe('When a definition was saved: problems that do not prevent saving, such as a secret that is not set'),
  })
  .meta({ id: 'Workflow' });

/** What lists say of a version. */
export const versionSummary = z
  .object({
    number: z.int32(),
    published: z.boolean(),
    permissions: z.array(permissionName),
    created_by: z.string(),
    created_by_name: actorName,
    created_at: timestamp,
  })
  .meta({ id: 'WorkflowVersionSummary' });

export const workflowVersion = versionSummary
  .extend({ definition: z.record(z.string(), jsonValue), source: z.string() })
  .meta({ id: 'WorkflowVersion' });

export const definitionFault = fieldFault.required().meta({ id: 'DefinitionFault' });

export const secretName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be up to 64 letters, digits and _, and not begin with a digit');

/** A secret without its value, which no operation reads back. */
export const workflowSecret = z.object({ name: z.string(), updated_at: timestamp }).meta({ id: 'WorkflowSecret' });
