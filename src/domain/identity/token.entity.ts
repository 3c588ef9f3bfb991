import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { Permission, Preset } from '../../kernel/permissions.ts';

export const Token = defineEntity({
  name: 'Token',
  tableName: 'token',
  properties: {
    id: p.integer().primary().autoincrement(),
    organization_id: p.integer(),
    name: p.string(),
    hash: p.string().unique(),
    last4: p.string(),
    permissions: p.json<Permission[]>(),
    preset: p.string().$type<Preset>().nullable(),
    /** Ids of projects; null means all. */
    projects: p.json<number[]>().nullable(),
    created_by: p.string(),
    created_at: p.datetime(),
    expires_at: p.datetime().nullable(),
    revoked_at: p.datetime().nullable(),
    last_used: p.datetime().nullable(),
  },
});
export type Token = InferEntity<typeof Token>;
