import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { Permission } from '../../kernel/actor.ts';
import type { WorkflowDefinition } from './definition/definition.schema.ts';

/** What is run, whatever starts it. `version` is the published one, which new executions follow. */
export const Workflow = defineEntity({
  name: 'Workflow',
  tableName: 'workflow',
  properties: {
    id: p.uuid().primary(),
    project_id: p.integer(),
    name: p.text(),
    description: p.text().nullable(),
    enabled: p.boolean(),
    version: p.integer(),
    latest_version: p.integer(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
    deleted_at: p.datetime(3).nullable(),
  },
});
export type Workflow = InferEntity<typeof Workflow>;

/** A definition that never changes, numbered from 1 within its workflow. */
export const WorkflowVersion = defineEntity({
  name: 'WorkflowVersion',
  tableName: 'workflow_version',
  properties: {
    workflow_id: p.uuid().primary(),
    number: p.integer().primary(),
    /** As it was sent, comments included. */
    source: p.text(),
    definition: p.json<WorkflowDefinition>(),
    permissions: p.json<Permission[]>(),
    /** The actor. */
    created_by: p.text(),
    created_at: p.datetime(3),
  },
});
export type WorkflowVersion = InferEntity<typeof WorkflowVersion>;

/** A value that `http` steps may name; no operation reads it back. */
export const WorkflowSecret = defineEntity({
  name: 'WorkflowSecret',
  tableName: 'workflow_secret',
  properties: {
    workflow_id: p.uuid().primary(),
    name: p.text().primary(),
    /** Counts its values. */
    version: p.integer(),
    ciphertext: p.text(),
    updated_at: p.datetime(3),
  },
});
export type WorkflowSecret = InferEntity<typeof WorkflowSecret>;
