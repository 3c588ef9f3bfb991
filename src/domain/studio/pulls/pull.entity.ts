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
    title: p.string(),
    body: p.text(),
    state: p.string().$type<PullState>(),
    draft: p.boolean(),
    head_branch: p.string(),
    base_branch: p.string(),
    /** The commits the branches held when it was last opened, closed or merged; while it is open the branches themselves count. */
    head_sha: p.string(),
    base_sha: p.string(),
    author_id: p.string(),
    author_name: p.string(),
    merge_commit_sha: p.string().nullable(),
    /** When a merge of it began that has not ended yet. */
    merging_at: p.datetime().nullable(),
    version: p.integer(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
    merged_at: p.datetime().nullable(),
    closed_at: p.datetime().nullable(),
  },
});
export type Pull = InferEntity<typeof Pull>;

/** The ref that keeps the head of a pull request alive. */
export const pullRef = (number: number) => `refs/pull/${number}/head`;

/** The hidden ref that keeps what a pull request is compared with: the branch it was proposed to may go or be rewritten. */
export const pullBaseRef = (number: number) => `refs/portico/pull/${number}/base`;
