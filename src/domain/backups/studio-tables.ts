import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { timestamp } from '../../kernel/shapes.ts';
import {
  Environment,
  environmentTypes,
  networks,
  providers,
  type StoredVariable,
  visibilities,
} from '../studio/environments/environment.entity.ts';
import { Pull, pullStates } from '../studio/pulls/pull.entity.ts';
import { sealHookSecret } from '../studio/upstream/remote.ts';
import { pushModes, Upstream, UpstreamBranch } from '../studio/upstream/upstream.entity.ts';
import type { BackedUpTable } from './backed-up-table.ts';

const int32 = z.int32();
const oid = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'is not an object id');

export const pullTable = {
  name: 'pull',
  entity: Pull,
  key: ['number'],
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
  key: ['name'],
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
  key: ['name'],
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
