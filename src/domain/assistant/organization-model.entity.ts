import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { ModelSettings } from '../../ports/model.ts';

/** What an organisation has set of the assistant's model; what is null is the operator's. */
export const OrganizationModel = defineEntity({
  name: 'OrganizationModel',
  tableName: 'organization_model',
  properties: {
    organization_id: p.integer().primary().autoincrement(false),
    provider: p.text().$type<ModelSettings['provider']>().nullable(),
    url: p.text().nullable(),
    model: p.text().nullable(),
    /** Sealed. */
    key: p.text().nullable(),
    /** Scheme, host and port the key was given for, and is sent to alone. */
    key_origin: p.text().nullable(),
    /** Counts the keys it has had. */
    version: p.integer(),
    updated_at: p.datetime(3),
  },
});
export type OrganizationModel = InferEntity<typeof OrganizationModel>;
