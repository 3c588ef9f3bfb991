import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { displayName, machineName, timestamp } from '../shapes.ts';
import {
  Environment,
  environmentTypes,
  networks,
  providers,
  type StoredVariable,
  visibilities,
} from '../studio/environments/environment.entity.ts';
import { Pull, pullStates } from '../studio/pulls/pull.entity.ts';
import { importState, repositoryChange } from '../studio/repository/repository.schema.ts';
import { pushModes, Upstream, UpstreamBranch } from '../studio/upstream/upstream.entity.ts';
import { sealHookSecret } from '../studio/upstream/upstream-secrets.ts';
import type { BackedUpTable } from './backed-up-table.ts';
import { crawlerScheduleTable, crawlerTable } from './crawler-tables.ts';

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

const storedVariable = z.object({
  name: z.string(),
  secret: z.boolean(),
  available_in_install: z.boolean(),
  value: z.string(),
});

/** Environments without their secrets; nothing is published until they have been deployed again. */
export const environmentTable = {
  name: 'environment',
  entity: Environment,
  key: 'name',
  row: z.object({
    name: z.string(),
    slug: z.string(),
    branch: z.string(),
    type: z.enum(environmentTypes),
    provider: z.enum(providers),
    root_directory: z.string(),
    install_command: z.string().nullable(),
    build_command: z.string().nullable(),
    output_directory: z.string(),
    variables: z.codec(z.array(storedVariable), z.custom<StoredVariable[]>(Array.isArray), {
      decode: (variables) => variables,
      encode: (variables) => variables.filter(({ secret }) => !secret),
    }),
    network: z.enum(networks),
    timeout_seconds: int32,
    auto_deploy: z.boolean(),
    cancel_superseded: z.boolean(),
    visibility: z.enum(visibilities),
    protected: z.boolean(),
    url: z.string().nullable(),
    deploy_webhook_url: z.string().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  }),
  left: {
    id: 'given anew',
    uuid: 'given anew: a part of its host',
    project_id: 'that of the project it is restored into',
    deploy_hook_secret: 'a secret; another one is made',
    followed_sha: 'belongs to deployments',
    published_deployment_id: 'deployments are not backed up',
    version: 'counts the secrets',
  },
  async anew() {
    return { uuid: randomUUID(), version: 1, deploy_hook_secret: null, followed_sha: null };
  },
} satisfies BackedUpTable;

/**
 * THE list of what a project is, beside its own row and its repository: each table whose rows a backup holds, in the order they can be
 * written. A table that belongs to projects and stands neither here nor in `notBackedUp` fails a test.
 */
export const projectTables: readonly BackedUpTable[] = [
  pullTable,
  upstreamTable,
  upstreamBranchTable,
  environmentTable,
  crawlerTable,
  crawlerScheduleTable,
];

/** Tables that belong to projects and are no part of a backup, each with why. */
export const notBackedUp: Record<string, string> = {
  audit: 'says what happened on this server, and stays there',
  crawl_host: 'is found out by the next crawl',
  crawl_link: 'is made again by crawling',
  crawl_url: 'is made again by crawling',
  crawler_run: 'is made again by crawling',
  delivery: 'goes with its workflow',
  delivery_key: 'goes with its workflow',
  deployment: 'is made again from its commit',
  deployment_job: 'is made again with its deployment',
  deployment_log: 'is made again with its deployment',
  effect: 'goes with its execution',
  event: 'tells those who watch this server',
  event_subject: 'tells those who watch this server',
  execution: 'goes with its workflow',
  mergeability: 'is found out again',
  notification: 'goes with its crawler',
  notification_attempt: 'goes with its crawler',
  replaced_output: 'matters for ten minutes after a publish',
  slot: 'goes with its workflow',
  snapshot: 'is made again by crawling',
  snapshot_entry: 'is made again by crawling',
  snapshot_import: 'goes with its snapshot',
  step_run: 'goes with its execution',
  studio_blob: 'is read from the repository again',
  studio_last_commit: 'is read from the repository again',
  studio_marker: 'is read from the repository again',
  studio_schema: 'is read from the repository again',
  workflow: 'holds rights and secrets of this server; its definition is exported as text',
  workflow_refusal: 'goes with its workflow',
  workflow_secret: 'a secret',
  workflow_trigger: 'holds a secret of this server',
  workflow_version: 'goes with its workflow',
};
