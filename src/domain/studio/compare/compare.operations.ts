import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { maxPerPage, pageNumber, windowOf } from '../../../kernel/paging.ts';
import { jsonValue } from '../../../kernel/shapes.ts';
import { longestPointers, mostPointers, pointerTo, shownPointers, valueAt } from '../../../lib/json-pointer.ts';
import { isRecord } from '../../../lib/objects.ts';
import type { ChangedFile, FileSide, Oid, Snapshot } from '../../../ports/git-records.ts';
import { entryAt, schemaAt } from '../content/collection-index.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { titleOfSlug } from '../frontmatter/summarize.ts';
import { deepEqual, type Frontmatter } from '../frontmatter/values.ts';
import { isMergeable } from '../merge/mergeability.ts';
import { commitNamed } from '../repository/refs.ts';
import { commit } from '../repository/repository.schema.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import { labelAt } from '../schema/json-schema.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { viewOf } from '../view.ts';

/**
 * JSON Pointers (RFC 6901) of the keys that two frontmatters differ in: maps on both sides are looked into, all else counts as a whole.
 * Keys of `after` come first, in its order, then those it lacks.
 */
export function changedFields(before: Frontmatter, after: Frontmatter, parent = ''): string[] {
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].flatMap((key) => {
    const [old, now] = [own(before, key), own(after, key)];
    if (deepEqual(old, now)) return [];
    const pointer = pointerTo(parent, key);
    return isRecord(old) && isRecord(now) ? changedFields(old, now, pointer) : [pointer];
  });
}

const own = (map: Frontmatter, key: string) => (Object.hasOwn(map, key) ? map[key] : undefined);

const changedEntry = z
  .object({
    title: z.string(),
    body_changed: z.boolean(),
    fields: z
      .array(
        z
          .object({
            field: z.string().describe('JSON Pointer into the frontmatter'),
            label: z.string().describe('What the schema calls it, as `Author › Name`'),
            before: jsonValue.optional().describe('Absent: it had none'),
            after: jsonValue.optional().describe('Absent: it has none'),
            truncated: z
              .boolean()
              .optional()
              .describe('Its values are too long to be shown, or those before it on the page are together'),
          })
          .meta({ id: 'ChangedField' }),
      )
      .describe('Those of `fields` of the file, with their values'),
  })
  .meta({ id: 'ChangedEntry' });

/** One changed file of a comparison. */
export const fileDiff = z
  .object({
    path: z.string(),
    previous_path: z.string().optional().describe('Where a renamed file was before'),
    status: z.enum(['added', 'modified', 'removed', 'renamed']),
    additions: z.int32().describe('Lines; 0 for binary files'),
    deletions: z.int32().describe('Lines; 0 for binary files'),
    changes: z.int32().describe('Lines added and removed'),
    sha: z.string().describe('Object id of the file in the head; of a removed file, the one it had'),
    patch: z.string().optional().describe('Unified diff, with `patch=true`; not of binary files'),
    truncated: z.boolean().optional().describe('The patch is longer than shown'),
    collection: z.string().optional(),
    slug: z.string().optional(),
    fields: z
      .array(z.string())
      .optional()
      .describe(
        `JSON Pointers of the frontmatter keys of an entry that differ, the first ${mostPointers}, fewer where they are long`,
      ),
    more_fields: z.int32().optional().describe('How many more keys differ than `fields` has; absent: none'),
    labels: z.array(z.string()).optional().describe('What the schema calls `fields`, in their order'),
    title: z.string().optional().describe('Of an entry that can be read'),
    entry: changedEntry
      .optional()
      .describe('With `values=true`: what has changed in an entry, where both versions can be read'),
  })
  .meta({ id: 'FileDiff' });

const comparison = z
  .object({
    base_commit: z.string(),
    head_commit: z.string(),
    merge_base_commit: z.string(),
    status: z.enum(['identical', 'ahead', 'behind', 'diverged']),
    ahead_by: z.int32().describe('Commits the head has and the base lacks'),
    behind_by: z.int32().describe('Commits the base has and the head lacks'),
    total_commits: z.int32(),
    commits: z.array(commit).describe('Commits the base lacks, newest first, at most 100'),
    total_files: z.int32(),
    files: z.array(fileDiff).describe('A page of what differs from the merge base to the head'),
    mergeable: z
      .boolean()
      .nullable()
      .describe(
        'Whether the head merges into the base without conflict; null: it has not been tested yet, or is too large to be tested',
      ),
    truncated: z.boolean().describe('There are more commits or files than are shown'),
  })
  .meta({ id: 'Comparison' });

type FileDiff = z.output<typeof fileDiff>;

/** Bytes of patch shown of one file, and of all files of a page together. */
const patchLimit = 64 * 1024;
const patchesLimit = 1024 * 1024;
/** Characters of the values of all files of a page together. */
const valuesLimit = 4 * 1024 * 1024;

interface Options {
  skip: number;
  limit: number;
  /** Adds the patches. */
  patch?: boolean | undefined;
  /** Adds the values of entries. */
  values?: boolean | undefined;
}

/** One page of the files that differ between two commits, entries with the frontmatter keys that do. */
export async function fileDiffs(
  context: Pick<StudioContext, 'git' | 'studio'>,
  base: Oid,
  head: Oid,
  { patch = false, values = false, ...page }: Options,
): Promise<{ files: FileDiff[]; total: number }> {
  const { git, studio } = context;
  const { files, total } = await git.diff(base, head, page);
  const snapshot = await git.snapshot(head);
  const site = files.length > 0 ? await studio.content.site(git, snapshot) : null;
  const diffs: FileDiff[] = [];
  let left = patchesLimit;
  const room = values ? { left: valuesLimit } : null;
  for (const file of files) {
    const diff = { ...recordOf(file), ...(site && (await entryPart(context, snapshot, site, file, room))) };
    if (patch && !file.binary) {
      const { text, truncated } = await git.patch(base, head, file, Math.min(patchLimit, left));
      left -= Buffer.byteLength(text);
      diff.patch = text;
      if (truncated) diff.truncated = true;
    }
    diffs.push(diff);
  }
  return { files: diffs, total };
}

const recordOf = ({ path, previous_path, status, additions, deletions, base, head }: ChangedFile): FileDiff => ({
  path,
  ...(previous_path !== null && { previous_path }),
  status,
  additions,
  deletions,
  changes: additions + deletions,
  sha: (head ?? base)?.oid ?? '',
});

const isRegular = (side: FileSide | null) => side?.mode === '100644' || side?.mode === '100755';

type JsonValue = z.output<typeof jsonValue>;

/** Longest value that is shown of a field, characters of JSON. */
const longestValue = 4096;

function shownField(
  { field, label }: { field: string; label: string },
  before: Frontmatter,
  after: Frontmatter,
  room: { left: number },
): z.output<typeof changedEntry>['fields'][number] {
  const [old, now] = [before, after].map((frontmatter) => valueAt(frontmatter, field) as JsonValue | undefined);
  const lengths = [old, now].map((value) => JSON.stringify(value)?.length ?? 0);
  const length = lengths.reduce((sum, one) => sum + one);
  if (Math.max(...lengths) > longestValue || length > room.left) return { field, label, truncated: true };
  room.left -= length;
  return { field, label, ...(old !== undefined && { before: old }), ...(now !== undefined && { after: now }) };
}

/** The first pointers whose labels have room together, with these. */
export function labelled(schema: CollectionSchema | undefined, pointers: readonly string[]) {
  const labels: string[] = [];
  let left = longestPointers;
  for (const pointer of pointers) {
    const label = labelAt(schema, pointer);
    left -= label.length;
    if (left < 0) break;
    labels.push(label);
  }
  return { fields: pointers.slice(0, labels.length), labels };
}

/**
 * What a changed file is as an entry; nothing when it is none. Keys are named only where both versions can be read.
 * @param room for values; null: they are not wanted
 */
async function entryPart(
  { git, studio }: Pick<StudioContext, 'git' | 'studio'>,
  snapshot: Snapshot,
  site: SiteIndex,
  { path, previous_path, base, head }: ChangedFile,
  room: { left: number } | null,
): Promise<Pick<FileDiff, 'collection' | 'slug' | 'fields' | 'more_fields' | 'labels' | 'title' | 'entry'> | null> {
  const place = isRegular(head ?? base) ? entryAt(site, path) : null;
  if (!place) return null;
  const factsOf = async (side: FileSide | null, at: string) => {
    if (!side || !isRegular(side)) return { frontmatter: {}, title: '' };
    const [facts] = await studio.content.listedFacts(git, snapshot, [{ path: at, oid: side.oid }]);
    return facts?.frontmatter ? { frontmatter: facts.frontmatter, title: facts.title } : null;
  };
  const [before, after] = [await factsOf(base, previous_path ?? path), await factsOf(head, path)];
  if (!before || !after) return place;
  const changed = changedFields(before.frontmatter, after.frontmatter);
  const { fields, labels } = labelled(schemaAt(site, path), shownPointers(changed));
  const more = changed.length > fields.length && { more_fields: changed.length - fields.length };
  const title = (head ? after.title : before.title) || titleOfSlug(place.slug);
  if (!room) return { ...place, fields, ...more, labels, title };
  const bodyOf = async (side: FileSide | null, at: string) =>
    side && isRegular(side) ? parseFile(await snapshot.blob(side.oid), at).body : '';
  const entry = {
    title,
    body_changed: (await bodyOf(base, previous_path ?? path)) !== (await bodyOf(head, path)),
    fields: fields.map((field, at) =>
      shownField({ field, label: labels[at] ?? field }, before.frontmatter, after.frontmatter, room),
    ),
  };
  return { ...place, fields, ...more, labels, title, entry };
}

export const compareBranches = studioOperation({
  name: 'studio.compareBranches',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Compare branches or commits',
  input: z.object({
    base: z.string().describe('Branch or full commit id'),
    head: z.string().describe('Branch or full commit id'),
    page: pageNumber.describe('Page of files, from 1'),
    per_page: pageNumber.describe('Files a page; default 30, above 100 means 100'),
    patch: z.boolean().optional().describe('Adds the unified diff of each file'),
    values: z.boolean().optional().describe('Adds what has changed in each entry, field by field'),
  }),
  output: comparison,
  async execute(context, { base: from, head: to, patch, values, ...paging }) {
    const { git, tag, studio, project } = context;
    const window = windowOf(paging);
    const [base, head] = [await commitNamed(git, 'base', from), await commitNamed(git, 'head', to)];
    tag(`"${head}.${viewOf([base, patch, values, window])}"`);
    const ancestor = await git.mergeBase(base, head);
    if (!ancestor) throw new DomainError('no_common_ancestor', `${from} and ${to} have no commit in common`);
    const { ahead_by, behind_by } = await git.aheadBehind(head, base);
    const commits = await git.commitsBetween(base, head, { skip: 0, limit: maxPerPage });
    const { files, total } = await fileDiffs(context, ancestor, head, {
      skip: window.offset,
      limit: window.limit,
      patch,
      values,
    });
    const pair = { current: base, incoming: head };
    const mergeable = ahead_by === 0 || behind_by === 0 || (await isMergeable(context, pair));
    if (mergeable === null) {
      studio.retests.want(project, [], [pair]);
      // It may be known to the next reader.
      tag(`"${head}.${randomUUID()}"`);
    }
    return {
      base_commit: base,
      head_commit: head,
      merge_base_commit: ancestor,
      status: statusOf(ahead_by, behind_by),
      ahead_by,
      behind_by,
      total_commits: ahead_by,
      commits,
      total_files: total,
      files,
      mergeable,
      truncated: commits.length < ahead_by || files.length < total,
    };
  },
});

function statusOf(ahead: number, behind: number) {
  if (ahead === 0) return behind === 0 ? ('identical' as const) : ('behind' as const);
  return behind === 0 ? ('ahead' as const) : ('diverged' as const);
}
