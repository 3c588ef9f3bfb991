import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { Permission, Preset } from '../../kernel/actor.ts';

/** A person's place in an organisation. */
export const Member = defineEntity({
  name: 'Member',
  tableName: 'member',
  properties: {
    id: p.integer().primary().autoincrement(),
    organization_id: p.integer(),
    user_id: p.integer(),
    role: p.text().$type<Preset>(),
    /** Beside those of the role. */
    permissions: p.json<Permission[]>(),
    /** Ids of projects; null means all. */
    projects: p.json<number[]>().nullable(),
    created_at: p.datetime(3),
    /** Null until the invitation is accepted: nothing is granted before. */
    joined_at: p.datetime(3).nullable(),
  },
  uniques: [{ properties: ['organization_id', 'user_id'] }],
});
export type Member = InferEntity<typeof Member>;

/** The row of an Owner who has joined. */
export const ownerOf = (organization_id: number, user_id: number, now: Date) => ({
  organization_id,
  user_id,
  role: 'owner' as const,
  permissions: [],
  projects: null,
  created_at: now,
  joined_at: now,
});
