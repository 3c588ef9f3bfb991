import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { displayName, machineName, timestamp } from '../shapes.ts';
import { Pull, pullStates } from '../studio/pulls/pull.entity.ts';
import { importState, repositoryChange } from '../studio/repository/repository.schema.ts';
import { pushModes, Upstream, UpstreamBranch } from '../studio/upstream/upstream.entity.ts';
import { sealHookSecret } from '../studio/upstream/upstream-secrets.ts';
import type { BackedUpTable } from './backed-up-table.ts';

const int32 = z.int32();
const oid = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'is not an object id');

/** The project's own row. */
export const projectRow = {
  name: 'project',
  row: z.object({
    name: displayName,
    machine_name: machineName,
    region: z.string().nullable(),
    import: importState.nullable(),
    // Loose: a setting that came later is kept as it is.
    settings: repositoryChange.omit({ default_branch: true }).loose().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  }),
  left: {
    id: 'given anew',
    uuid: 'names the repository, which is another one',
    organization_id: 'where it is restored decides',
    deleted_at: 'only a project that is there is backed up',
  },
} satisfies Omit<BackedUpTable, 'entity'>;

export const pullTable = {
  name: 'pull',
  entity: Pull,
  key: 'number',
  row: z.object({
    number: int32.min(1),
    title: z.string(),
    body: z.string(),
    state: z.enum(pullStates),
    draft: z.boolean(),
    head_branch: z.string(),
    base_branch: z.string(),
    head_sha: oid,
    base_sha: oid,
    author_id: z.string(),
    author_name: z.string(),
    merge_commit_sha: oid.nullable(),
    version: int32,
    created_at: timestamp,
    updated_at: timestamp,
    merged_at: timestamp.nullable(),
    closed_at: timestamp.nullable(),
  }),
  left: {
    id: 'given anew',
    project_id: 'that of the project it is restored into',
    merging_at: 'a merge under way belongs to a process of this server',
  },
} satisfies BackedUpTable;

const withoutCredentials = 'Backups hold no credentials: set the remote again';

/** A mirror is one again, and says that its credentials are to be given anew. */
export const upstreamTable = {
  name: 'upstream',
  entity: Upstream,
  row: z.object({
    url: z.string(),
    auth_kind: z.enum(['none', 'token', 'basic', 'ssh_key']),
    push: z.enum(pushModes),
    created_at: timestamp,
    updated_at: timestamp,
  }),
  left: {
    project_id: 'that of the project it is restored into',
    credentials: 'a secret',
    hook_secret: 'a secret; another one is made',
    version: 'counts the secrets',
    fetched_at: 'of this server',
    fetch_error: 'of this server',
    lease_id: 'of a process of this server',
    lease_until: 'of a process of this server',
  },
  async anew({ services, project }, { auth_kind }) {
    const secret = randomBytes(32).toString('base64url');
    return {
      version: 1,
      hook_secret: await sealHookSecret(services, project, secret),
      fetch_error: auth_kind === 'none' ? null : withoutCredentials,
    };
  },
} satisfies BackedUpTable;

export const upstreamBranchTable = {
  name: 'upstream_branch',
  entity: UpstreamBranch,
  key: 'name',
  row: z.object({
    name: z.string(),
    synced_sha: oid.nullable(),
    pushed_at: timestamp.nullable(),
    problem: z.enum(['diverged', 'refused', 'failed']).nullable(),
    message: z.string().nullable(),
  }),
  left: { project_id: 'that of the project it is restored into' },
} satisfies BackedUpTable;

/**
 * THE list of what a project is, beside its own row and its repository: each table whose rows a backup holds, in the order they can be
 * written. A table that belongs to projects and stands neither here nor in `notBackedUp` fails a test.
 */
export const projectTables: readonly BackedUpTable[] = [pullTable, upstreamTable, upstreamBranchTable];

/** Tables that belong to projects and are no part of a backup, each with why. */
export const notBackedUp: Record<string, string> = {
  audit: 'says what happened on this server, and stays there',
  mergeability: 'is found out again',
  studio_blob: 'is read from the repository again',
  studio_last_commit: 'is read from the repository again',
  studio_marker: 'is read from the repository again',
};
