import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Draft } from '../studio/drafts/draft.entity.ts';
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
import { SavedView } from '../studio/views/saved-view.entity.ts';
import { backedUp } from './backed-up-table.ts';

const int32 = z.int32();
const oid = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'is not an object id');

export const pullTable = backedUp({
  entity: Pull,
  key: ['number'],
  columns: {
    number: int32.min(1),
    state: z.enum(pullStates),
    head_sha: oid,
    base_sha: oid,
    merge_commit_sha: oid.nullable(),
  },
  left: {
    id: 'given anew',
    project_id: 'that of the project it is restored into',
    merging_at: 'a merge under way belongs to a process of this server',
  },
});

export const draftTable = backedUp({
  entity: Draft,
  key: ['branch'],
  left: { project_id: 'that of the project it is restored into' },
});

export const viewTable = backedUp({
  entity: SavedView,
  key: ['owner_id', 'collection', 'name'],
  columns: { query: z.record(z.string(), z.unknown()) },
  left: { id: 'given anew', project_id: 'that of the project it is restored into' },
});

const withoutCredentials = 'Backups hold no credentials: set the remote again';

/** A mirror is one again, and says that its credentials are to be given anew. */
export const upstreamTable = backedUp({
  entity: Upstream,
  columns: {
    auth_kind: z.enum(['none', 'token', 'basic', 'ssh_key']),
    push: z.enum(pushModes),
  },
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
});

export const upstreamBranchTable = backedUp({
  entity: UpstreamBranch,
  key: ['name'],
  columns: {
    synced_sha: oid.nullable(),
    problem: z.enum(['diverged', 'refused', 'failed']).nullable(),
  },
  left: { project_id: 'that of the project it is restored into' },
});

const storedVariable = z.object({
  name: z.string(),
  secret: z.boolean(),
  available_in_install: z.boolean(),
  available_in_drafts: z.boolean().default(false),
  value: z.string(),
});

/** Environments without their secrets; nothing is published until they have been deployed again. Draft previews are made again when they are wanted. */
export const environmentTable = backedUp({
  entity: Environment,
  key: ['name'],
  ofProject: async (_em, project_id) => ({ project_id, previewed_at: null }),
  columns: {
    type: z.enum(environmentTypes),
    provider: z.enum(providers),
    variables: z.codec(z.array(storedVariable), z.custom<StoredVariable[]>(Array.isArray), {
      decode: (variables) => variables,
      encode: (variables) => variables.filter(({ secret }) => !secret),
    }),
    network: z.enum(networks),
    visibility: z.enum(visibilities),
  },
  left: {
    id: 'given anew',
    uuid: 'given anew: a part of its host',
    project_id: 'that of the project it is restored into',
    deploy_hook_secret: 'a secret; another one is made',
    followed_sha: 'belongs to deployments',
    published_deployment_id: 'deployments are not backed up',
    previewed_at: 'draft previews are not backed up',
    version: 'counts the secrets',
  },
  async anew() {
    return { uuid: randomUUID(), version: 1, deploy_hook_secret: null, followed_sha: null };
  },
});
