import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** What a person has chosen for the dashboard. */
export interface Preferences {
  language?: string;
  time_zone?: string;
  theme?: 'light' | 'dark' | 'system';
  /** Of the entry editor; its own keys. */
  editor?: Record<string, unknown>;
}

/** A person. One who was invited and has not joined yet has neither a password nor an identity. */
export const User = defineEntity({
  name: 'User',
  tableName: 'user',
  properties: {
    id: p.integer().primary().autoincrement(),
    /** Lower case. */
    email: p.text().unique(),
    name: p.text(),
    /** As `passwords.ts` stores it. */
    password: p.text().nullable(),
    instance_admin: p.boolean(),
    preferences: p.json<Preferences>().defaultRaw("'{}'"),
    created_at: p.datetime(3),
    disabled_at: p.datetime(3).nullable(),
  },
});
export type User = InferEntity<typeof User>;

/** An account at an OpenID provider that may sign a person in. */
export const UserIdentity = defineEntity({
  name: 'UserIdentity',
  tableName: 'user_identity',
  properties: {
    id: p.integer().primary().autoincrement(),
    user_id: p.integer(),
    issuer: p.text(),
    /** `sub` of the provider. */
    subject: p.text(),
    linked_at: p.datetime(3),
  },
  uniques: [{ properties: ['issuer', 'subject'] }],
});
export type UserIdentity = InferEntity<typeof UserIdentity>;
