import { z } from 'zod';
import { changeOf, timestamp } from '../../../kernel/shapes.ts';
import { cronString, timeZone } from '../../schedules/schedules.schema.ts';
import { workflowId } from '../workflow.schema.ts';
import { authModes, refusalReasons, webhookMethods } from './trigger.entity.ts';

export const maxCronTriggers = 10;
export const maxGrace = 604_800;

export const triggerName = { ...workflowId, trigger: z.string().max(100).describe('Id of the trigger') };

export const authMode = z.enum(authModes).meta({ id: 'WebhookAuthMode' });
const method = z.enum(webhookMethods).meta({ id: 'WebhookMethod' });
const triggerType = z.enum(['webhook', 'cron']).meta({ id: 'WorkflowTriggerType' });

const rateFault = 'must be an integer from 1 to 1000000';
const settable = {
  enabled: z.boolean().optional().describe('Default true'),
  auth_mode: authMode.optional().describe('How callers of a webhook authenticate with its secret; default secret'),
  methods: z
    .array(method)
    .min(1, 'must not be empty')
    .nullish()
    .describe('HTTP methods a webhook in secret mode accepts; null: all of them'),
  rate_limit: z
    .int(rateFault)
    .min(1, rateFault)
    .max(1_000_000, rateFault)
    .nullish()
    .describe('Calls per minute and server process; null: no limit'),
  schedule_cron_string: cronString.optional(),
  timezone: timeZone.nullish(),
};

export const triggerDraft = z.object({ ...workflowId, type: triggerType, ...settable });
export const triggerChange = changeOf({ ...triggerName, ...settable });

export const secretState = z
  .enum(['set', 'grace', 'revoked', 'unreadable'])
  .describe('grace: the previous secret is good as well; unreadable: the key it is stored under is missing')
  .meta({ id: 'TriggerSecretState' });

const reason = z.enum(refusalReasons).meta({ id: 'WebhookRefusalReason' });

const refusal = z
  .object({
    at: timestamp,
    reason,
    method: z.string(),
    address: z.string().nullable(),
  })
  .meta({ id: 'WebhookRefusal' });

const refusalCount = z.object({ reason, count: z.int32() }).meta({ id: 'WebhookRefusalCount' });

export const workflowTrigger = z
  .object({
    id: z.string(),
    type: triggerType,
    enabled: z.boolean(),
    auth_mode: authMode.nullable(),
    url: z.string().nullable().describe('Where outside services call'),
    methods: z.array(method).nullable(),
    rate_limit: z.int32().nullable(),
    secret_state: secretState.nullable(),
    secret_version: z.int32().nullable(),
    previous_secret_expires_at: timestamp.nullable(),
    previous_secret_last_used_at: timestamp.nullable(),
    last_delivery_at: timestamp.nullable(),
    last_refusal: refusal.nullable(),
    refusals: z.array(refusalCount).describe('Refused calls by reason'),
    latest_refusals: z.array(refusal).describe('The last 20, newest first'),
    schedule_cron_string: z.string().nullable(),
    timezone: z.string().nullable(),
    next_fires: z.array(timestamp).describe('The next five times; none while it is off'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'WorkflowTrigger' });

export const revealedSecret = z
  .object({ secret: z.string(), secret_version: z.int32(), auth_mode: authMode })
  .meta({ id: 'RevealedTriggerSecret' });

export const rotatedTrigger = workflowTrigger
  .extend({ secret: z.string().describe('The new secret, shown only in this answer') })
  .meta({ id: 'RotatedTrigger' });
