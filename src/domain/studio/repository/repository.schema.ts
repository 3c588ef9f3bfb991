import { z } from 'zod';
import { compileGlob } from '../schema/glob.ts';

const person = z.object({ name: z.string(), email: z.string(), date: z.string() }).meta({ id: 'CommitPerson' });

export const commit = z
  .object({
    sha: z.string(),
    tree_sha: z.string(),
    parents: z.array(z.string()),
    message: z.string(),
    author: person,
    committer: person,
  })
  .meta({ id: 'Commit' });

export const branch = z
  .object({
    name: z.string(),
    default: z.boolean(),
    protected: z.boolean(),
    commit: z.string().describe('Id of the commit it points to'),
    ahead_by: z.int32().optional().describe('Commits the default branch lacks; with `compare=true`'),
    behind_by: z.int32().optional().describe('Commits of the default branch it lacks; with `compare=true`'),
  })
  .meta({ id: 'Branch' });

export const branchDraft = z.object({
  name: z.string(),
  from: z.string().optional().describe('Branch or full commit id; default: the default branch'),
});

const treeItem = z
  .object({
    path: z.string(),
    type: z.enum(['blob', 'tree', 'commit']),
    mode: z.string(),
    sha: z.string(),
    size: z.int().optional().describe('Bytes; files only'),
  })
  .meta({ id: 'FileTreeItem' });

export const filetree = z
  .object({
    commit: z.string().nullable(),
    tree_sha: z.string().nullable(),
    truncated: z.boolean(),
    tree: z.array(treeItem),
  })
  .meta({ id: 'FileTree' });

export const lfsPointer = z.object({ oid: z.string(), size: z.int() }).meta({ id: 'LfsPointer' });

export const file = z
  .object({
    path: z.string(),
    name: z.string(),
    sha: z.string(),
    size: z.int(),
    encoding: z.enum(['utf-8', 'base64']),
    content: z.string(),
    mime: z.string(),
    lfs: lfsPointer.optional(),
    symlink_target: z.string().optional(),
  })
  .meta({ id: 'File' });

export const importState = z
  .object({
    state: z.enum(['queued', 'running', 'completed', 'failed']),
    url: z.string(),
    phase: z.string().nullable(),
    received_objects: z.int(),
    total_objects: z.int(),
    message: z.string().nullable(),
    started_at: z.string().nullable(),
    finished_at: z.string().nullable(),
  })
  .meta({ id: 'RepositoryImport' });

const repositorySettings = z
  .object({
    protected_branches: z.array(z.string()).describe('Globs of branches that are neither deleted nor moved by force'),
    require_pull: z.boolean().describe('Protected branches move by merging pull requests only'),
    require_preconditions: z.boolean().describe('Updates and deletions need If-Match or `sha`'),
  })
  .meta({ id: 'RepositorySettings' });

const branchPattern = z
  .string()
  .min(1, 'must not be empty')
  .max(200, 'must be at most 200 characters')
  .refine((text) => compileGlob(text) !== null, 'is not a glob');

export const repositoryChange = z.object({
  default_branch: z.string().optional(),
  protected_branches: z.array(branchPattern).max(50, 'must be at most 50 patterns').optional(),
  require_pull: z.boolean().optional(),
  require_preconditions: z.boolean().optional(),
  content_root: z
    .string()
    .nullable()
    .optional()
    .describe("Directory of the site, '' for the root; null: found by its configuration"),
});

export const repository = z
  .object({
    mode: z.enum(['hosted', 'remote']),
    default_branch: z.string(),
    size: z.int().describe('Bytes on disk'),
    object_format: z.enum(['sha1', 'sha256']),
    clone_url: z.string(),
    content_root: z
      .string()
      .nullable()
      .describe("Directory of the site, '' for the root; null: found by its configuration"),
    settings: repositorySettings,
    import: importState.nullable(),
  })
  .meta({ id: 'Repository' });
