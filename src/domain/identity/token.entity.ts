import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { Permission, Preset, ToolRights } from '../../kernel/actor.ts';

export const Token = defineEntity({
  name: 'Token',
  tableName: 'token',
  properties: {
    id: p.integer().primary().autoincrement(),
    organization_id: p.integer(),
    name: p.text(),
    hash: p.text().unique(),
    last4: p.text(),
    permissions: p.json<Permission[]>(),
    preset: p.text().$type<Preset>().nullable(),
    /** Ids of projects; null means all. */
    projects: p.json<number[]>().nullable(),
    /** At `/mcp`. */
    mcp: p.json<ToolRights>(),
    created_by: p.text(),
    created_at: p.datetime(3),
    expires_at: p.datetime(3).nullable(),
    revoked_at: p.datetime(3).nullable(),
    last_used: p.datetime(3).nullable(),
  },
});
export type Token = InferEntity<typeof Token>;
