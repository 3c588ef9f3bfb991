import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const authModes = ['secret', 'hmac'] as const;
export type AuthMode = (typeof authModes)[number];

export const webhookMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type WebhookMethod = (typeof webhookMethods)[number];

/** What starts a workflow: calls of its webhook, or a clock. Runs by hand need none. */
export const WorkflowTrigger = defineEntity({
  name: 'WorkflowTrigger',
  tableName: 'workflow_trigger',
  properties: {
    id: p.uuid().primary(),
    workflow_id: p.uuid(),
    type: p.text().$type<'webhook' | 'cron'>(),
    enabled: p.boolean(),
    auth_mode: p.text().$type<AuthMode>().nullable(),
    /** Of webhooks in secret mode; null: all. */
    methods: p.json<WebhookMethod[]>().nullable(),
    /** Calls a minute. */
    rate_limit: p.integer().nullable(),
    /** Ciphertexts, each bound to the trigger and its version. */
    secret: p.text().nullable(),
    secret_version: p.integer().default(0),
    previous_secret: p.text().nullable(),
    previous_secret_version: p.integer().nullable(),
    /** Until then the previous secret is good as well. */
    previous_secret_expires_at: p.datetime(3).nullable(),
    previous_secret_last_used_at: p.datetime(3).nullable(),
    schedule_cron_string: p.text().nullable(),
    timezone: p.text().nullable(),
    next_fire_at: p.datetime(3).nullable(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
    deleted_at: p.datetime(3).nullable(),
  },
});
export type WorkflowTrigger = InferEntity<typeof WorkflowTrigger>;

/** Why a call of a known webhook was refused. */
export const refusalReasons = [
  'disabled',
  'no_secret',
  'method',
  'credential',
  'signature',
  'too_many_failures',
  'too_large',
  'timeout',
  'encoding',
  'rate_limit',
  'backlog',
  'loop',
  'unavailable',
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** A refused call: nothing of what it said is kept. */
export interface Refusal {
  at: string;
  reason: RefusalReason;
  method: string;
  address: string | null;
}

/** What a webhook refused: how often by reason, and the last ones, newest first. */
export const WorkflowRefusal = defineEntity({
  name: 'WorkflowRefusal',
  tableName: 'workflow_refusal',
  properties: {
    trigger_id: p.uuid().primary(),
    counts: p.json<Partial<Record<RefusalReason, number>>>(),
    latest: p.json<Refusal[]>(),
  },
});
