import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const pullStates = ['open', 'closed', 'merged'] as const;
export type PullState = (typeof pullStates)[number];

export const Pull = defineEntity({
  name: 'Pull',
  tableName: 'pull',
  properties: {
    id: p.integer().primary().autoincrement(),
    project_id: p.integer(),
    /** Counts per project. */
    number: p.integer(),
    title: p.text(),
    body: p.text(),
    state: p.text().$type<PullState>(),
    draft: p.boolean(),
    head_branch: p.text(),
    base_branch: p.text(),
    /** The commits the branches held when it was last opened, closed or merged; while it is open the branches themselves count. */
    head_sha: p.text(),
    base_sha: p.text(),
    author_id: p.text(),
    author_name: p.text(),
    merge_commit_sha: p.text().nullable(),
    /** When a merge of it began that has not ended yet. */
    merging_at: p.datetime(3).nullable(),
    version: p.integer(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
    merged_at: p.datetime(3).nullable(),
    closed_at: p.datetime(3).nullable(),
  },
  uniques: [{ properties: ['project_id', 'number'] }],
});
export type Pull = InferEntity<typeof Pull>;

/** The ref that keeps the head of a pull request alive. */
export const pullRef = (number: number) => `refs/pull/${number}/head`;

/** The hidden ref that keeps what a pull request is compared with: the branch it was proposed to may go or be rewritten. */
export const pullBaseRef = (number: number) => `refs/portico/pull/${number}/base`;
