import { z } from 'zod';
import { fieldFault, freeObject, timeText } from '../../../kernel/shapes.ts';
import { mostPointers } from '../../../lib/json-pointer.ts';
import { longestMessage } from '../../../ports/git-writes.ts';
import { conflict, resolution } from '../merge/merge.schema.ts';
import { commit } from '../repository/repository.schema.ts';
import { entryKind, studioSchema, studioWarning } from '../schema/schema.schema.ts';
import { sync } from '../upstream/upstream.schema.ts';

const entryFault = fieldFault
  .extend({ label: z.string().describe('What the schema calls the field, as `Author › Name`; empty: the whole entry') })
  .meta({ id: 'EntryFault' });

const frontmatterError = z
  .object({ code: z.string(), message: z.string(), line: z.int32(), column: z.int32() })
  .meta({ id: 'FrontmatterError' });

const summary = {
  collection: z.string(),
  slug: z.string().describe('Path relative to the collection, without extension'),
  path: z.string().describe('Path in the repository'),
  sha: z.string().describe('Object id of the file'),
  title: z.string(),
  url: z.string().optional().describe('Path of its page, by the saved route patterns'),
  link: z
    .string()
    .optional()
    .describe('What the text of any entry links to its page by; without it, by the path from its own file to this one'),
  draft: z.boolean(),
  locale: z.string().optional(),
  translation_key: z.string().optional(),
  frontmatter: freeObject.nullable().describe('null when it cannot be read; `error` says why'),
  size: z.int32().describe('Bytes'),
  error: frontmatterError.optional(),
};

export const entrySummary = z
  .object({
    ...summary,
    body: z.string().optional().describe('With `include=body`'),
    truncated: z
      .boolean()
      .optional()
      .describe('The bodies before this one fill the page (16 MiB): it is read with the entry itself'),
    updated_at: timeText.optional().describe('With `include=updated`: when the file was last committed'),
    updated_by: z.string().optional(),
    faults: z.array(entryFault).optional().describe('With `invalid=true`: what is wrong with it'),
  })
  .meta({ id: 'EntrySummary' });

const content = {
  ...summary,
  body: z.string(),
  format: z.enum(['yaml', 'toml', 'json', 'none']),
  eol: z.enum(['lf', 'crlf', 'mixed']),
  raw: z.string().optional().describe('The whole file, with `raw=true`'),
  lossy: z
    .array(z.string())
    .optional()
    .describe(
      `JSON Pointers of values given as text because no number holds them, the first ${mostPointers}, fewer where they are long`,
    ),
  warnings: z.array(studioWarning),
};

/** A file that belongs to one entry by where it lies. */
const ownFile = z
  .object({
    path: z.string(),
    references: z
      .array(z.object({ collection: z.string(), slug: z.string(), path: z.string() }).meta({ id: 'OwnFileReference' }))
      .describe('Other entries that name it'),
  })
  .meta({ id: 'OwnFile' });

/** Why an entry has no address. */
export const noUrl = z
  .object({
    code: z.enum(['data', 'partial', 'unreadable', 'draft', 'no_pattern', 'no_page']).meta({ id: 'NoUrlCode' }),
    message: z.string(),
  })
  .meta({ id: 'NoUrl' });

export const entry = z
  .object({
    ...content,
    no_url: noUrl.optional().describe('Why it has no `url`; absent while the project has saved no route patterns'),
    faults: z
      .array(entryFault)
      .optional()
      .describe('With `include=faults`: where it breaks the schema of its collection'),
    own_files: z.array(ownFile).optional().describe('With `include=own_files`: files that belong to it alone'),
  })
  .meta({ id: 'Entry' });

/** What a rename suggests beside itself. */
export const renameDetails = z
  .object({
    redirect: z
      .object({
        field: z.string().describe('JSON Pointer of the frontmatter key that makes the site redirect'),
        slug: z.string().describe('The slug the entry had'),
        url: z.string().optional().describe('The address it had, when the schema defines it'),
      })
      .meta({ id: 'RedirectSuggestion' }),
  })
  .meta({ id: 'RenameDetails' });

export const savedEntry = z
  .object({
    ...content,
    commit: commit.nullable().describe('null when no byte changed'),
    unchanged: z.boolean(),
    merged: z.boolean(),
    renamed_from: z.string().optional(),
    conflicts: z.array(conflict).optional().describe('GraphQL: why nothing was saved; REST refuses instead'),
    references: z
      .array(z.string())
      .optional()
      .describe('Entries whose relations or relative links a rename rewrote, as collection/slug'),
    assets: z.array(z.string()).optional().describe('Paths of the files that a rename moved along'),
    details: renameDetails.optional().describe('Of a rename: how to keep the old address alive'),
    sync: sync.optional().describe('Of a mirror: state of the branch compared with the upstream'),
  })
  .meta({ id: 'SavedEntry' });

export const withAssets = z
  .boolean()
  .optional()
  .describe(
    'Delete its own files as well: its asset folder, or what lies beside it in its own directory; not what other entries name',
  );

export const deletedEntry = z
  .object({
    deleted: z.literal(true),
    path: z.string(),
    assets: z.array(z.string()).optional().describe('With assets=true: paths of its own files that were deleted along'),
    kept_assets: z.array(z.string()).optional().describe('Its own files that other entries name, and that are kept'),
    commit,
    sync: sync.optional(),
  })
  .meta({ id: 'DeletedEntry' });

export const collection = z
  .object({
    name: z.string(),
    label: z.string(),
    kind: entryKind,
    path: z.string(),
    format: z.string(),
    entries_count: z.int32(),
    invalid_count: z.int32().describe('Entries whose frontmatter cannot be read or breaks the schema'),
    schema: studioSchema,
  })
  .meta({ id: 'Collection' });

/** Who a commit is by, when not by the caller; needs manage_studio. */
export const commitAuthor = z
  .object({ name: z.string().min(1).max(200), email: z.string().min(3).max(200) })
  .meta({ id: 'CommitAuthor' });

export const commitMessage = z
  .string()
  .max(longestMessage, `must be at most ${longestMessage} characters`)
  .optional()
  .describe('Commit message');

export const writeInput = {
  branch: z.string().optional().describe('Branch to write to; default: the default branch'),
  message: commitMessage,
  author: commitAuthor.optional().describe('Needs manage_studio'),
};

export const entryDraft = z.object({
  slug: z.string().describe('Entry identifier within its collection'),
  frontmatter: freeObject.optional().describe('Metadata of the entry; default none'),
  body: z.string().optional().describe('Entry content; default empty'),
  raw: z.string().optional().describe('The whole file; excludes frontmatter, body and apply_defaults'),
  format: z.string().max(20).optional().describe('File extension (mdx) or metadata language (toml)'),
  path: z.string().optional().describe('Path in the repository, within the collection; default from the slug'),
  locale: z.string().max(35).optional(),
  apply_defaults: z.boolean().optional().describe("Write the schema's defaults for absent fields"),
  ...writeInput,
});

/** Characters of a JSON Pointer in an input. */
const longestPointer = 10_000;

export const entryChange = z.object({
  frontmatter: freeObject
    .nullish()
    .describe(
      'Merged into what the file holds; null, as GET answers for a file that cannot be read, leaves it unchanged',
    ),
  body: z.string().optional().describe('Absent: unchanged'),
  raw: z.string().optional().describe('The whole file; excludes frontmatter, body and unset'),
  slug: z.string().optional().describe('Another slug renames the entry'),
  mode: z
    .enum(['merge', 'replace'])
    .meta({ id: 'FrontmatterMode' })
    .default('merge')
    .describe('merge: RFC 7396 merge patch; replace: frontmatter is complete'),
  unset: z
    .array(z.string().max(longestPointer, `must be at most ${longestPointer} characters`))
    .max(200)
    .optional()
    .describe('JSON Pointers of keys to remove'),
  sha: z.string().optional().describe('Object id the file must have'),
  on_conflict: z
    .enum(['fail', 'merge'])
    .meta({ id: 'ConflictMode' })
    .default('fail')
    .describe('What to do when the file is not the one the caller saw: refuse, or merge key by key and line by line'),
  resolutions: z
    .array(resolution)
    .max(100, 'must be at most 100')
    .optional()
    .describe('With on_conflict=merge: how to resolve the conflict of this file'),
  ...writeInput,
});
