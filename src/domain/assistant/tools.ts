/**
 * The 24 tools of the assistant, for a conversation in the dashboard and for clients of the Model Context Protocol: a tool is an operation, worded
 * for a model. A row names the inputs a model may set and the members of the output it gets; the schemas are those of the operation. A tool that
 * takes something away, or moves a branch by a merge, waits for consent to a phrase that names what will happen, and to the version it was
 * read at.
 */
import { z } from 'zod';
import type { Permission } from '../../kernel/actor.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { AnyOperation, Operation, Scope } from '../../kernel/operation.ts';
import { pageOf } from '../../kernel/paging.ts';
import { encodePath } from '../../lib/text.ts';
import { compareBranches, fileDiff } from '../studio/compare/compare.operations.ts';
import { getSchema, listCollections, listSchemas } from '../studio/content/schemas.operations.ts';
import { getDeployment } from '../studio/deployments/deployments.operations.ts';
import { createEntry, deleteEntry, updateEntry } from '../studio/entries/change-entries.operations.ts';
import { getEntry, locateEntry, searchEntries } from '../studio/entries/entries.operations.ts';
import { collection, deletedEntry, entry, entrySummary, savedEntry } from '../studio/entries/entries.schema.ts';
import { deleteMedia, listMedia } from '../studio/media/media.operations.ts';
import { media, savedMedia } from '../studio/media/media.schema.ts';
import { uploadMedia } from '../studio/media/upload-media.operations.ts';
import { mergeBranches } from '../studio/merge/merge-branches.operations.ts';
import { mergeResult } from '../studio/merge/merge-branches.schema.ts';
import { mergePull } from '../studio/pulls/merge-pull.operations.ts';
import { getPull, listPulls } from '../studio/pulls/pulls.operations.ts';
import { pull, pullMerged, pullSummary } from '../studio/pulls/pulls.schema.ts';
import { createPull } from '../studio/pulls/write-pull.operations.ts';
import { createBranch, getBranches, listBranches } from '../studio/repository/branches.operations.ts';
import { listCommits } from '../studio/repository/commits.operations.ts';
import { getFile, getFiletree, locateFile } from '../studio/repository/files.operations.ts';
import { branch, commit, file, filetree } from '../studio/repository/repository.schema.ts';
import { detectRoutePatterns } from '../studio/routes/route-patterns.operations.ts';
import { detectedRoutes } from '../studio/routes/routes.schema.ts';
import { studioSchema } from '../studio/schema/schema.schema.ts';
import type { ConsentCode, TextCode } from './conversation.entity.ts';

export type ToolInput = Record<string, unknown>;

/** Runs a query as the caller of a tool, in the project the tool is called for. */
export type Read = <
  S extends Scope,
  In extends z.ZodObject,
  Out extends z.ZodType,
  Also extends Permission,
  Runtimes extends object,
  Adds extends object,
>(
  operation: Operation<S, In, Out, Also, Runtimes, Adds>,
  input: z.input<In>,
) => Promise<z.input<Out>>;

/** What is to be agreed to before a tool acts. */
export interface Consent {
  /** What will happen, naming what it happens to and the version that was read; it is what a caller repeats to agree. */
  phrase: string;
  /** The same for another language; absent: there is none. */
  phrase_code?: TextCode & { code: ConsentCode };
  /** Inputs that hold the operation to that version. */
  holds?: ToolInput;
  /** Branch the operation moves, where the input does not name it. */
  into?: string;
}

export interface Tool {
  /** As a model calls it. */
  name: string;
  title: string;
  /** For a model: what it is for, and what to call before or after it. */
  description: string;
  operation: AnyOperation;
  /** Inputs of the operation that a model may set. */
  inputs: z.ZodObject;
  /** Inputs it is always called with. */
  fixed?: ToolInput;
  /** Members of the output that a model gets. */
  result: z.ZodObject;
  /** The member of the result that can be of any length, and is given in ranges. */
  long?: string;
  /** The input that names the branch a write goes to. */
  target?: 'branch' | 'base' | 'name';
  /** It changes the public site without naming a branch. */
  publishes?: true;
  /** Reads what is to be agreed to; undefined: nothing, for this input. A tool without it acts at once. */
  consent?(
    read: Read,
    input: ToolInput,
    place: { organization: string; project: string },
  ): Promise<Consent | undefined>;
  /** Where the dashboard shows it, below the page of the project. */
  page?(input: ToolInput): string;
}

/** Checks a row's wording of schemas against its operation. */
const row = <
  S extends Scope,
  In extends z.ZodObject,
  Out extends z.ZodType,
  Also extends Permission,
  Runtimes extends object,
  Adds extends object,
>(
  tool: Omit<Tool, 'operation' | 'inputs'> & {
    operation: Operation<S, In, Out, Also, Runtimes, Adds>;
    inputs: Partial<Record<keyof z.input<In>, z.ZodType | true>>;
  },
): Tool => {
  const { operation, inputs } = tool;
  const shape = operation.input.shape as Record<string, z.ZodType>;
  const picked = Object.entries(inputs).map(([name, schema]) => [name, schema === true ? shape[name] : schema]);
  return { ...tool, operation: operation as unknown as AnyOperation, inputs: z.object(Object.fromEntries(picked)) };
};

const ref = { branch: true } as const;
const paging = { page: true, per_page: true } as const;
const target = z
  .string()
  .describe('Branch to write to: one made by create_branch, or any that is neither protected nor deployed by itself');

const listOf = <T extends z.ZodType>(item: T) =>
  pageOf(item).pick({ items: true, total_count: true, page: true, has_next_page: true });

const shortCommit = commit.pick({ sha: true, message: true });
const saved = savedEntry
  .pick({ collection: true, slug: true, path: true, sha: true, title: true, url: true, draft: true, unchanged: true })
  .extend(savedEntry.pick({ renamed_from: true, references: true, assets: true, details: true, warnings: true }).shape)
  .extend({ commit: shortCommit.nullable() });
const shownPull = { state: true, draft: true, head: true, base: true, author: true, mergeable: true } as const;

const short = (sha: unknown) => String(sha).slice(0, 7);
const inDraft = (branch: unknown) => (typeof branch === 'string' ? `?draft=${encodeURIComponent(branch)}` : '');
const entryPage = ({ collection, entry, slug, branch }: ToolInput) =>
  `content/${encodePath(String(collection))}/${encodePath(String(slug ?? entry))}${inDraft(branch)}`;

/** What a merge will do. @param heads ids of the commits that are merged */
const mergePhrase = (what: string, head: unknown, into: string) => `merge ${what} at ${short(head)} into ${into}`;

export const tools: readonly Tool[] = [
  row({
    name: 'list_schemas',
    title: 'List schemas',
    description: 'The schemas of all collections, without their fields; get_schema gives those of one.',
    operation: listSchemas,
    inputs: { ...ref, ...paging },
    result: listOf(
      studioSchema.pick({ collection: true, label: true, kind: true, path: true, format: true, inferred: true }),
    ),
  }),
  row({
    name: 'get_schema',
    title: 'Get a schema',
    description:
      'The fields of one collection: names, types, which are required, allowed values, relations. Read it before entries are created or changed.',
    operation: getSchema,
    inputs: { collection: true, ...ref },
    result: studioSchema.omit({ json_schema: true, source: true }),
  }),
  row({
    name: 'list_collections',
    title: 'List collections',
    description: 'The collections of the site, with how many entries each has and how many of them are invalid.',
    operation: listCollections,
    inputs: { ...ref, ...paging },
    result: listOf(collection.omit({ schema: true })),
    page: ({ branch }) => `content${inDraft(branch)}`,
  }),
  row({
    name: 'search_entries',
    title: 'Search entries',
    description:
      'Finds entries by words, in all collections or in one. With `collection` it also lists without words, and takes sort, filter, locale, draft and invalid. Bodies are read by get_entry.',
    operation: searchEntries,
    inputs: {
      ...{ q: true, collection: true, sort: true, filter: true, draft: true, locale: true, invalid: true },
      ...ref,
      ...paging,
    },
    result: listOf(entrySummary.omit({ frontmatter: true, body: true, size: true })),
  }),
  row({
    name: 'get_entry',
    title: 'Get an entry',
    description:
      'One entry: frontmatter, body, address, and where it breaks its schema. Its `sha` is what update_entry and delete_entry take.',
    operation: getEntry,
    inputs: { collection: true, entry: true, ...ref },
    fixed: { include: ['faults'] },
    result: entry.omit({ raw: true, own_files: true, size: true }),
    long: 'body',
    page: entryPage,
  }),
  row({
    name: 'create_entry',
    title: 'Create an entry',
    description: 'Creates an entry in one commit. get_schema says which frontmatter it needs.',
    operation: createEntry,
    inputs: {
      ...{ collection: true, slug: true, frontmatter: true, body: true, locale: true, apply_defaults: true },
      ...{ branch: target, message: true },
    },
    result: saved,
    target: 'branch',
    page: entryPage,
  }),
  row({
    name: 'update_entry',
    title: 'Update an entry',
    description:
      'Changes an entry in one commit. Frontmatter is merged into what the file holds (RFC 7396), a body replaces the whole body; another `slug` renames it and mends what links to it. Give the `sha` that get_entry answered, so that nothing newer is overwritten.',
    operation: updateEntry,
    inputs: {
      ...{ collection: true, entry: true, frontmatter: true, unset: true, body: true, slug: true, sha: true },
      ...{ branch: target, message: true },
    },
    result: saved,
    target: 'branch',
    page: entryPage,
  }),
  row({
    name: 'delete_entry',
    title: 'Delete an entry',
    description: 'Deletes an entry in one commit. Waits for consent.',
    operation: deleteEntry,
    inputs: { collection: true, entry: true, assets: true, branch: target, message: true },
    result: deletedEntry.omit({ sync: true }).extend({ commit: shortCommit }),
    target: 'branch',
    async consent(read, { collection, entry, branch }) {
      const at = { collection: String(collection), entry: String(entry), branch: String(branch) };
      const { sha } = await read(locateEntry, at);
      const phrase = `delete ${at.collection}/${at.entry} at ${short(sha)} from ${at.branch}`;
      const values = { entry: `${at.collection}/${at.entry}`, sha: short(sha), branch: at.branch };
      return { phrase, phrase_code: { code: 'delete_entry', values }, holds: { sha } };
    },
  }),
  row({
    name: 'list_media',
    title: 'List media',
    description: 'Files of the media roots, with their size in pixels and the path by which the site shows them.',
    operation: listMedia,
    inputs: { path: true, recursive: true, type: true, q: true, ...ref, ...paging },
    result: listOf(media.omit({ lfs: true })),
    page: ({ branch }) => `media${inDraft(branch)}`,
  }),
  row({
    name: 'upload_media',
    title: 'Upload a file',
    description:
      'Stores a file, given as base64, at a path inside a media root. Entries name it by `link` of the answer, without it by the path from their own file.',
    operation: uploadMedia,
    inputs: {
      ...{ path: true, content: true, overwrite: true, rename: true, sha: true },
      ...{ branch: target, message: true },
    },
    result: z.object({
      files: z.array(savedMedia.omit({ lfs: true, commit: true }).extend({ commit: shortCommit.nullable() })),
      unchanged: z.boolean(),
    }),
    target: 'branch',
  }),
  row({
    name: 'delete_media',
    title: 'Delete a file',
    description: 'Deletes a file of the media. Waits for consent; refused while entries name it.',
    operation: deleteMedia,
    inputs: { media: true, branch: target, message: true },
    result: z.object({ deleted: z.literal(true), path: z.string(), commit: shortCommit }),
    target: 'branch',
    async consent(read, { media, branch }) {
      const { sha } = await read(locateFile, { path: String(media), branch: String(branch) });
      const values = { media: String(media), sha: short(sha), branch: String(branch) };
      const phrase = `delete ${media} at ${short(sha)} from ${branch}`;
      return { phrase, phrase_code: { code: 'delete_media', values }, holds: { sha } };
    },
  }),
  row({
    name: 'list_branches',
    title: 'List branches',
    description: 'Branches, the default one first; `protected` ones take no commits of a tool.',
    operation: listBranches,
    inputs: { q: true, compare: true, ...paging },
    result: listOf(branch.omit({ sync: true, can_commit: true })),
    page: () => 'drafts',
  }),
  row({
    name: 'create_branch',
    title: 'Create a branch',
    description: 'Makes a branch to write to. With a title it is a draft of that name in the dashboard.',
    operation: createBranch,
    inputs: { name: true, from: true, title: true },
    result: branch.omit({ sync: true, can_commit: true }),
    target: 'name',
    page: ({ name }) => `content${inDraft(name)}`,
  }),
  row({
    name: 'compare_branches',
    title: 'Compare branches',
    description:
      'What a branch changes, file by file; `values` adds what changed in each entry field by field, `patch` the unified diffs.',
    operation: compareBranches,
    inputs: { base: true, head: true, patch: true, values: true, ...paging },
    result: compareBranches.output
      .omit({ commits: true })
      .extend({ commits: z.array(shortCommit), files: z.array(fileDiff.omit({ labels: true })) }),
    page: ({ head }) => `drafts/changes${inDraft(head)}`,
  }),
  row({
    name: 'merge_branches',
    title: 'Merge branches',
    description: 'Merges one branch into another. Waits for consent.',
    operation: mergeBranches,
    inputs: { head: true, base: z.string().describe('Branch to merge into'), strategy: true, message: true },
    result: mergeResult.omit({ sync: true, resolved: true }).extend({ commit: shortCommit.nullable() }),
    target: 'base',
    async consent(read, { head, base }) {
      const [from, into] = await read(getBranches, { names: [String(head), String(base)] });
      if (!from || !into) throw new DomainError('not_found', `Branch ${from ? base : head} not found`);
      const phrase = mergePhrase(String(head), from.commit, `${base} at ${short(into.commit)}`);
      const values = {
        ...{ head: String(head), head_sha: short(from.commit) },
        ...{ base: String(base), base_sha: short(into.commit) },
      };
      const holds = { head_sha: from.commit, base_sha: into.commit };
      return { phrase, phrase_code: { code: 'merge_branches', values }, holds };
    },
  }),
  row({
    name: 'list_commits',
    title: 'List commits',
    description: 'The history of a branch, a file or an entry, newest first.',
    operation: listCommits,
    inputs: {
      ...{ path: true, collection: true, slug: true, author: true, since: true, until: true },
      ...ref,
      ...paging,
    },
    result: listOf(commit.omit({ tree_sha: true, committer: true })),
  }),
  row({
    name: 'list_pulls',
    title: 'List pull requests',
    description: 'Pull requests, the newest first; open ones unless `state` says otherwise.',
    operation: listPulls,
    inputs: { state: true, base: true, head: true, author: true, sort: true, direction: true, ...paging },
    result: listOf(pullSummary.pick({ number: true, title: true, ...shownPull, updated_at: true })),
    page: () => 'drafts',
  }),
  row({
    name: 'get_pull',
    title: 'Get a pull request',
    description: 'One pull request: what it proposes, and whether it merges; compare_branches shows its changes.',
    operation: getPull,
    inputs: { number: true },
    result: pull.omit({ deployments: true }),
    page: ({ number }) => `drafts/reviews/${number}`,
  }),
  row({
    name: 'create_pull',
    title: 'Create a pull request',
    description: 'Proposes a branch for review. Say in the body what changes and why.',
    operation: createPull,
    inputs: { title: true, head: true, base: true, body: true, draft: true },
    result: pull.omit({ deployments: true }),
  }),
  row({
    name: 'merge_pull',
    title: 'Merge a pull request',
    description: 'Merges a pull request. Waits for consent.',
    operation: mergePull,
    inputs: { number: true, strategy: true, message: true },
    result: pullMerged
      .pick({ merged: true, sha: true, branch_deleted: true, conflicts: true })
      .extend({ commit: shortCommit.nullable() }),
    async consent(read, { number }) {
      const { head, base } = await read(getPull, { number: Number(number) });
      const what = `pull request ${number} (${head.ref})`;
      const values = { number: Number(number), head: head.ref, head_sha: short(head.sha), base: base.ref };
      const phrase = mergePhrase(what, head.sha, base.ref);
      return { phrase, phrase_code: { code: 'merge_pull', values }, holds: { sha: head.sha }, into: base.ref };
    },
    page: ({ number }) => `drafts/reviews/${number}`,
  }),
  row({
    name: 'get_deployment',
    title: 'Get a deployment',
    description: 'One deployment by its id: status, why it failed, its jobs and their steps, warnings.',
    operation: getDeployment,
    inputs: { deployment: true },
    result: getDeployment.output.omit({ output_digest: true, isolation_reason: true }),
    page: ({ deployment }) => `site/deployments/${deployment}`,
  }),
  row({
    name: 'get_filetree',
    title: 'Get the file tree',
    description: 'Files and directories of the repository; give `path` and `depth` for a part of a large one.',
    operation: getFiletree,
    inputs: { path: true, depth: true, flat: true, ...ref },
    result: filetree.omit({ tree_sha: true }),
    page: ({ path, branch }) => `files${path ? `/${encodePath(String(path))}` : ''}${inDraft(branch)}`,
  }),
  row({
    name: 'read_file',
    title: 'Read a file',
    description:
      'Any file of the repository as text, such as a configuration or a template. Entries are read by get_entry.',
    operation: getFile,
    inputs: { path: true, ...ref },
    fixed: { include: ['kind'] },
    result: file.omit({ lfs: true, symlink_target: true }),
    long: 'content',
    page: ({ path, branch }) => `files/${encodePath(String(path))}${inDraft(branch)}`,
  }),
  row({
    name: 'detect_routes',
    title: 'Detect routes',
    description: 'The framework of the site and the addresses it gives to entries, with samples. Nothing is saved.',
    operation: detectRoutePatterns,
    inputs: { root: true, environment_id: true, deployment_id: true, branch: true },
    fixed: { save: false },
    result: detectedRoutes.omit({ sitemap: true }),
  }),
];

/** The same by their names. */
export const toolsByName: ReadonlyMap<string, Tool> = new Map(tools.map((tool) => [tool.name, tool]));
