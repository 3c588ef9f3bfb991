import { z } from 'zod';
import { displayName, machineName, timestamp } from '../shapes.ts';
import { Pull, pullStates } from '../studio/pulls/pull.entity.ts';
import { importState, repositoryChange } from '../studio/repository/repository.schema.ts';
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
    settings: repositoryChange.omit({ default_branch: true }).nullable(),
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

/**
 * THE list of what a project is, beside its own row and its repository: each table whose rows a backup holds, in the order they can be
 * written. A table that belongs to projects and stands neither here nor in `notBackedUp` fails a test.
 */
export const projectTables: readonly BackedUpTable[] = [pullTable];

/** Tables that belong to projects and are no part of a backup, each with why. */
export const notBackedUp: Record<string, string> = {
  audit: 'says what happened on this server, and stays there',
};
