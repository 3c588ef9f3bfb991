import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** A named look at a collection's entries: what is found, sorted and shown. */
export const SavedView = defineEntity({
  name: 'SavedView',
  tableName: 'saved_view',
  properties: {
    id: p.integer().primary().autoincrement(),
    project_id: p.integer(),
    owner_id: p.text(),
    owner_name: p.text(),
    collection: p.text(),
    name: p.text(),
    /** As the client that saved it reads it: nothing here does. */
    query: p.json<Record<string, unknown>>(),
    /** Everybody in the project sees it. */
    shared: p.boolean(),
    updated_at: p.datetime(3),
  },
  uniques: [{ properties: ['project_id', 'owner_id', 'collection', 'name'] }],
});
export type SavedView = InferEntity<typeof SavedView>;
