import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { AuthMode } from '../triggers/trigger.entity.ts';

export const deliveryOutcomes = ['accepted', 'duplicate', 'redelivery'] as const;
export type DeliveryOutcome = (typeof deliveryOutcomes)[number];

/** One authenticated call of a webhook, as it came; what an execution reads of it is derived from this. */
export const Delivery = defineEntity({
  name: 'Delivery',
  tableName: 'delivery',
  properties: {
    id: p.uuid().primary(),
    trigger_id: p.uuid(),
    execution_id: p.uuid().nullable(),
    outcome: p.text().$type<DeliveryOutcome>(),
    method: p.text(),
    /** Names in lower case, values redacted. */
    headers: p.json<Record<string, string>>(),
    /** Without the credential. */
    query: p.json<Record<string, string | string[]>>(),
    /** The bytes that were signed, packed (`kept-body.ts`); null when they are in the blob store, or not kept any more. */
    body: p.blob().nullable(),
    /** Name in the blob store, when they are there. */
    body_sha256: p.text().nullable(),
    raw_size: p.integer(),
    raw_sha256: p.text(),
    dedup_key: p.text().nullable(),
    /** Of a duplicate: whether the first call with its key brought other bytes. */
    body_differs: p.boolean().default(false),
    auth_mode: p.text().$type<AuthMode>(),
    secret_version: p.integer(),
    received_at: p.datetime(3),
  },
});
export type Delivery = InferEntity<typeof Delivery>;
