import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/**
 * A data key of an organisation, wrapped by a key-encryption key. At most one per organisation is active (unique index
 * `data_key_active`); retired ones still open what they encrypted.
 */
export const DataKey = defineEntity({
  name: 'DataKey',
  tableName: 'data_key',
  properties: {
    id: p.uuid().primary(),
    organization_id: p.integer(),
    kek_id: p.text(),
    wrapped: p.blob(),
    state: p.text().$type<'active' | 'retired'>(),
    /** Encryptions reserved so far, in blocks; never less than those done. */
    uses: p.bigint('number').defaultRaw('0'),
    created_at: p.datetime(3),
  },
});
export type DataKey = InferEntity<typeof DataKey>;
