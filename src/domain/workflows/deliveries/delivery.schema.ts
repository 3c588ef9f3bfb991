import { z } from 'zod';
import { pageInput } from '../../../kernel/paging.ts';
import { jsonValue, timestamp } from '../../../kernel/shapes.ts';
import { authMode, triggerName } from '../triggers/trigger.schema.ts';
import { deliveryOutcomes } from './delivery.entity.ts';

const outcome = z.enum(deliveryOutcomes).meta({ id: 'WorkflowDeliveryOutcome' });

export const deliveryName = { ...triggerName, delivery: z.string().max(100).describe('Id of the delivery') };

export const deliveriesWanted = z.object({ ...pageInput, ...triggerName, outcome: outcome.optional() });

/** What lists say of a delivery. */
export const deliverySummary = z
  .object({
    id: z.string(),
    outcome,
    execution_id: z.string().nullable(),
    method: z.string(),
    event: z.string().nullable(),
    delivery_id: z.string().nullable().describe('What the sender calls it: calls of the same name are duplicates'),
    body_differs: z.boolean().describe('Of a duplicate: the first call of its name brought other bytes'),
    raw_size: z.int(),
    raw_sha256: z.string(),
    auth: z.object({ mode: authMode, secret_version: z.int32() }).meta({ id: 'DeliveryAuth' }),
    received_at: timestamp,
  })
  .meta({ id: 'WorkflowDeliverySummary' });

const bodyError = z.object({ message: z.string(), position: z.int32().nullable() }).meta({ id: 'DeliveryBodyError' });

/** One delivery with what it brought. */
export const workflowDelivery = deliverySummary
  .extend({
    headers: z.record(z.string(), z.string()).describe('Credentials are redacted'),
    query: z.record(z.string(), jsonValue),
    body: jsonValue.describe('What executions get as input.body'),
    body_note: z.string().nullable(),
    body_error: bodyError.nullable(),
    raw: z.string().nullable().describe('The bytes as text, when they are UTF-8 and at most 1 MiB'),
    has_expired: z.boolean().describe('The bytes are no longer stored'),
  })
  .meta({ id: 'WorkflowDelivery' });

export const begunExecution = z.object({ execution_id: z.string() }).meta({ id: 'BegunExecution' });
