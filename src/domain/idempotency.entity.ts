import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** The stored answer of a command that carried an idempotency key; kept 24 hours. */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  properties: {
    actor: p.string().primary(),
    operation: p.string().primary(),
    key: p.string().primary(),
    input_hash: p.string(),
    output: p.json<unknown>().nullable(),
    etag: p.string().nullable(),
    completed: p.boolean(),
    /** Names the call that has the key until it is completed. */
    claim: p.uuid().nullable(),
    created_at: p.datetime(),
  },
});
export type IdempotencyKey = InferEntity<typeof IdempotencyKey>;
