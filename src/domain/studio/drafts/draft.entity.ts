import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** What is known of a branch that was made by saving. A row without its branch is no draft: it reserves the name while one is made. */
export const Draft = defineEntity({
  name: 'Draft',
  tableName: 'draft',
  properties: {
    project_id: p.integer().primary(),
    branch: p.text().primary(),
    owner_id: p.text(),
    owner_name: p.text(),
    /** The branch it was begun on. */
    base: p.text(),
    title: p.text(),
    created_at: p.datetime(3),
  },
});
export type Draft = InferEntity<typeof Draft>;
