import { z } from 'zod';
import { changeOf, oneLine, timestamp, timeText } from '../../../kernel/shapes.ts';
import { routePattern, routePatterns } from '../routes/routes.schema.ts';
import { compileGlob } from '../schema/glob.ts';
import { rescued } from '../upstream/rescued.ts';
import { divergence, sync, upstreamAuth, upstreamRecord, upstreamUrl } from '../upstream/upstream.schema.ts';

const person = z.object({ name: z.string(), email: z.string(), date: timeText }).meta({ id: 'CommitPerson' });

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

export const directCommit = z
  .object({
    allowed: z.boolean(),
    reason: z
      .string()
      .optional()
      .describe('Code of the error that a write is refused with: `forbidden`, `branch_protected`'),
    message: z.string().optional().describe('The refusal as a sentence'),
  })
  .meta({ id: 'DirectCommit' })
  .describe('Whether the caller may commit to it without a pull request');

/** Of a branch that was made by saving. */
export const draft = z
  .object({
    owner: z
      .object({ id: z.string().describe('`user:<id>`, `token:<id>` …'), name: z.string() })
      .meta({ id: 'DraftOwner' }),
    own: z.boolean().describe('Whether the caller is its owner'),
    base: z.string().describe('Branch it was begun on'),
    title: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Draft' });

export const branch = z
  .object({
    name: z.string(),
    default: z.boolean(),
    protected: z.boolean(),
    commit: z.string().describe('Id of the commit it points to'),
    can_commit: directCommit,
    draft: draft.optional().describe('Of a branch that was made by saving'),
    ahead_by: z
      .int32()
      .optional()
      .describe('Commits the default branch lacks; with `compare=true`, and unless counting takes too long'),
    behind_by: z
      .int32()
      .optional()
      .describe('Commits of the default branch it lacks; with `compare=true`, and unless counting takes too long'),
    sync: sync.optional().describe('Of a mirror'),
  })
  .meta({ id: 'Branch' });

export const branchDraft = z.object({
  name: z.string(),
  from: z
    .string()
    .optional()
    .describe('Branch or full commit id, with manage_studio also of a rescued commit; default: the default branch'),
  title: oneLine(200).optional().describe('Makes it a draft that is called so'),
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
    kind: z
      .enum(['entry', 'media', 'other'])
      .meta({ id: 'FileKind' })
      .optional()
      .describe(
        'With `include=kind`: entries and media have endpoints of their own, all else is written by `write_file`',
      ),
    entry: z
      .object({ collection: z.string(), slug: z.string() })
      .meta({ id: 'EntryAddress' })
      .optional()
      .describe('With `include=kind`: the entry it is'),
  })
  .meta({ id: 'File' });

export const importState = z
  .object({
    state: z.enum(['queued', 'running', 'completed', 'failed']),
    url: z.string(),
    phase: z.string().nullable(),
    received_objects: z.int32(),
    total_objects: z.int32(),
    message: z.string().nullable(),
    started_at: timeText.nullable(),
    finished_at: timeText.nullable(),
  })
  .meta({ id: 'RepositoryImport' });

const freshFor = z
  .object({
    read: z.int32().min(0, 'must be at least 0').max(86_400, 'must be at most 86400'),
    write: z.int32().min(0, 'must be at least 0').max(3_600, 'must be at most 3600'),
  })
  .meta({ id: 'FreshFor' })
  .describe('Of a mirror: seconds for which what was fetched counts as the upstream’s state, for reads and for writes');

const publishChecks = z
  .enum(['warn', 'block'])
  .meta({ id: 'PublishChecksSetting' })
  .describe('block: a merge into the default branch is refused for new errors; see GET …/studio/compare/checks');

const repositorySettings = z
  .object({
    protected_branches: z.array(z.string()).describe('Globs of branches that are neither deleted nor moved by force'),
    require_pull: z.boolean().describe('Protected branches move by merging pull requests only'),
    require_preconditions: z.boolean().describe('Updates and deletions need If-Match or `sha`'),
    publish_checks: publishChecks,
    fresh_for: freshFor,
    draft_preview: z.int32().nullable().describe('Environment that draft previews are copies of; null: there are none'),
  })
  .meta({ id: 'RepositorySettings' });

const branchPattern = z
  .string()
  .min(1, 'must not be empty')
  .max(200, 'must be at most 200 characters')
  .refine((text) => compileGlob(text) !== null, 'is not a glob');

const repositoryMode = z.enum(['hosted', 'remote']).meta({ id: 'RepositoryMode' });

export const importRequest = z.object({
  url: upstreamUrl,
  auth: upstreamAuth.default({ kind: 'none' }).describe('Kept encrypted, only as long as it is needed'),
  mode: repositoryMode
    .default('hosted')
    .describe('remote: the repository stays a mirror of the one it is imported from'),
  branches: z
    .array(z.string())
    .min(1, 'must name at least one branch')
    .max(100, 'must be at most 100 branches')
    .optional()
    .describe(
      'Only these, and no tags; the first becomes the default branch when the source’s own is not among them. A mirror begins with them and takes ' +
        'the other branches when it is synchronised. Default: all branches and tags',
    ),
});

export const repositoryChange = changeOf(
  {
    default_branch: z.string().optional(),
    protected_branches: z.array(branchPattern).max(50, 'must be at most 50 patterns').optional(),
    require_pull: z.boolean().optional(),
    require_preconditions: z.boolean().optional(),
    publish_checks: publishChecks.optional(),
    fresh_for: freshFor.optional(),
    draft_preview: z
      .int32()
      .nullable()
      .optional()
      .describe(
        'Environment that draft previews are copies of: then everybody with edit_studio can have drafts built and shown to members as it is. ' +
          'Those there are follow it; null deletes them',
      ),
    content_root: z
      .string()
      .nullable()
      .optional()
      .describe("Directory of the site, '' for the root; null: found by its configuration"),
    route_patterns: routePatterns.nullable().optional().describe('Where entries are published; null removes it'),
  },
  ['content_root'],
);

export const repository = z
  .object({
    mode: repositoryMode,
    default_branch: z.string(),
    size: z.int().describe('Bytes on disk'),
    object_format: z.enum(['sha1', 'sha256']).meta({ id: 'ObjectFormat' }),
    clone_url: z.string(),
    content_root: z
      .string()
      .nullable()
      .describe("Directory of the site, '' for the root; null: found by its configuration"),
    route_patterns: z.array(routePattern).nullable().describe('Saved; null: entries have no address'),
    settings: repositorySettings,
    upstream: upstreamRecord.nullable().describe('The repository this one mirrors'),
    sync: sync.nullable().describe('Of a mirror: the default branch, with the worst state of any branch'),
    diverged: z.array(divergence).describe('Branches of a mirror that have to be merged with the upstream by a person'),
    rescued: z
      .array(rescued)
      .describe(
        'Commits that branches had when the upstream went another way, at most 50: of branches that are there first, then of deleted ones; newest first',
      ),
    import: importState.nullable(),
  })
  .meta({ id: 'Repository' });

/** What naming an upstream answers: the only time that the secret is shown. */
export const repositoryWithHook = repository
  .extend({
    hook_secret: z.string().nullable().describe('What push notices are signed with; shown only when it is made'),
  })
  .meta({ id: 'RepositoryWithHook' });
