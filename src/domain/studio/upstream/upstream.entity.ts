import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { UpstreamAuth } from '../../../ports/git-transfer.ts';

export const pushModes = ['on_commit', 'manual'] as const;
export type PushMode = (typeof pushModes)[number];

/** The repository elsewhere that a project mirrors. */
export const Upstream = defineEntity({
  name: 'Upstream',
  tableName: 'upstream',
  properties: {
    project_id: p.integer().primary().autoincrement(false),
    url: p.text(),
    auth_kind: p.text().$type<UpstreamAuth['kind']>(),
    /** Sealed JSON of an `UpstreamAuth`; null when none is needed. */
    credentials: p.text().nullable(),
    /** Sealed: what push notices are signed with. */
    hook_secret: p.text(),
    /** Counts the values the sealed columns have had. */
    version: p.integer(),
    push: p.text().$type<PushMode>(),
    fetched_at: p.datetime(3).nullable(),
    /** Why the last fetch failed, in words for people; null when it did not. */
    fetch_error: p.text().nullable(),
    /** The process that is at it, and until when that holds without a sign of life. */
    lease_id: p.uuid().nullable(),
    lease_until: p.datetime(3).nullable(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
  },
});
export type Upstream = InferEntity<typeof Upstream>;

/** `diverged`: both sides have commits that people must bring together; `refused`: by the upstream's own rules; `failed`: by accident. */
export type BranchProblem = 'diverged' | 'refused' | 'failed';

/** What is remembered of a branch; where it stands is read from the repository. */
export const UpstreamBranch = defineEntity({
  name: 'UpstreamBranch',
  tableName: 'upstream_branch',
  properties: {
    project_id: p.integer().primary(),
    name: p.text().primary(),
    /** The last commit of the upstream that the branch here has had in its history; null when it never was there. */
    synced_sha: p.text().nullable(),
    pushed_at: p.datetime(3).nullable(),
    problem: p.text().$type<BranchProblem>().nullable(),
    message: p.text().nullable(),
  },
});
export type UpstreamBranch = InferEntity<typeof UpstreamBranch>;
