import type { FieldError } from '../../../kernel/errors.ts';
import { shownPointers } from '../../../lib/json-pointer.ts';
import { isLonger } from '../../../lib/objects.ts';
import type { Repository } from '../../../ports/git.ts';
import type { FileSide, MergedTree, Mode, Oid, Snapshot } from '../../../ports/git-records.ts';
import type { Change } from '../../../ports/git-writes.ts';
import { isContent, refusalOf } from '../content/admission.ts';
import { entryAt, schemaAt } from '../content/collection-index.ts';
import { judgeWrite } from '../entries/validate.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { titleOfSlug } from '../frontmatter/summarize.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { StudioContext } from '../studio.ts';
import type { Conflict, ResolvedFile } from './merge.schema.ts';
import type { FileConflict } from './merge-entry.ts';

/** What a merge is made in. */
export type MergeContext = Pick<StudioContext, 'git' | 'studio'>;

export interface FileStages {
  base: FileSide | null;
  current: FileSide | null;
  incoming: FileSide | null;
}

/** A file as the three sides have it, found across a rename. */
export interface FoundStages {
  stages: FileStages;
  previous_path?: string;
}

/** What a merge reads: the trees of the two commits, of their ancestor, and what git made of them. */
export interface Sides {
  git: Repository;
  current: Snapshot;
  incoming: Snapshot;
  merged: Snapshot;
  schemaAt(path: string): CollectionSchema | undefined;
  entryAt(path: string): { collection: string; slug: string } | null;
  /** By the current side: what comes in has no say about what it is. */
  isContent(path: string, mode: string): boolean;
  /** By either side. */
  isContentOfEither(path: string, mode: string): boolean;
  /**
   * What is wrong with an entry by its schema in the merge, and was not in a former text of it (null: none), as a save is judged; fields are JSON
   * Pointers into its frontmatter. What cannot be read has no faults.
   */
  faultsOf(path: string, content: Buffer, before: Buffer | null): Promise<FieldError[]>;
  /** Whether edit_studio alone may write this content there, by the current side. */
  admits(path: string, content: Buffer): boolean;
  /** null when no side has a file there. */
  stagesAt(path: string): Promise<FoundStages | null>;
  /** Where a file of either side was in the ancestor; undefined when it was there or nowhere. */
  previousPath(path: string): Promise<string | undefined>;
}

export async function sideAt(snapshot: Snapshot | null, path: string): Promise<FileSide | null> {
  const found = (await snapshot?.lookup(path))?.entry;
  return found && found.mode !== '40000' ? { oid: found.oid, mode: found.mode as Mode } : null;
}

/** Opens the trees of a merge; schemas are those of the current side, and of the incoming one for collections it brings. */
export async function openSides(
  { git, studio }: MergeContext,
  {
    current,
    incoming,
    tree,
    signal,
  }: { current: Oid; incoming: Oid; tree: MergedTree; signal?: AbortSignal | undefined },
): Promise<Sides> {
  const ancestor = await git.mergeBase(current, incoming);
  const base = ancestor === null ? null : await git.snapshot(ancestor);
  const ours = await git.snapshot(current);
  const theirs = await git.snapshot(incoming);
  const site = await studio.content.site(git, ours);
  const sites = [site, await studio.content.site(git, theirs)];
  let renames: Promise<ReadonlyMap<string, string>[]> | undefined;
  const findRenames = async () =>
    ancestor === null
      ? []
      : [await git.renames(ancestor, current, signal), await git.renames(ancestor, incoming, signal)];
  const previousPath = async (path: string) => {
    if (await sideAt(base, path)) return undefined;
    renames ??= findRenames();
    const found = (await renames).find((side) => side.has(path));
    return found?.get(path);
  };
  const merged = await git.snapshotOfTree(tree);
  const schemaOf = (path: string) => sites.map((site) => schemaAt(site, path)).find((schema) => schema !== undefined);
  return {
    git,
    current: ours,
    incoming: theirs,
    merged,
    schemaAt: schemaOf,
    async faultsOf(path, content, before) {
      const schema = schemaOf(path);
      const wanted = parseFile(content, path).frontmatter;
      if (!schema || !wanted) return [];
      const stored = before && parseFile(before, path).frontmatter;
      const at = { tree: merged, site: await studio.content.site(git, merged) };
      const { errors } = await judgeWrite(at, { schema }, { paths: [path], wanted, stored });
      return errors.map((error) => ({ ...error, field: error.field.slice('/frontmatter'.length) }));
    },
    entryAt: (path) => sites.map((site) => entryAt(site, path)).find((entry) => entry !== null) ?? null,
    isContent: (path, mode) => isContent(site, path, mode),
    isContentOfEither: (path, mode) => sites.some((site) => isContent(site, path, mode)),
    admits(path, content) {
      const file = { path, size: content.length, head: content.subarray(0, 4096) };
      return refusalOf(site, file, Number.POSITIVE_INFINITY) === null;
    },
    previousPath,
    async stagesAt(path) {
      const previous = await previousPath(path);
      const old = previous ?? path;
      const stages = {
        base: await sideAt(base, old),
        current: (await sideAt(ours, path)) ?? (await sideAt(ours, old)),
        incoming: (await sideAt(theirs, path)) ?? (await sideAt(theirs, old)),
      };
      if (!stages.base && !stages.current && !stages.incoming) return null;
      return { stages, ...(previous !== undefined && { previous_path: previous }) };
    },
  };
}

/** What becomes of one file: a change on top of git's tree, or a conflict. */
export interface FileMerge {
  change?: Change;
  conflict?: Conflict;
  resolved?: ResolvedFile;
}

/** Conflicts that an answer shows at most: as many as one request can settle. */
export const mostConflicts = 1_000;
/** Characters of JSON that are shown of one conflict, and of all conflicts of an answer together. */
const longestConflict = 1024 * 1024;
export const longestConflicts = 4 * longestConflict;
/** A longer title is not shown. */
const longestTitle = 300;

/** What is left of one answer for conflicts, and for files that were merged without help. */
export class ConflictRoom {
  #conflicts: number;
  #letters = longestConflicts;
  #files = 1_000;
  #lettersOfFiles = longestConflicts;

  /** @param conflicts that are shown at most */
  constructor(conflicts = mostConflicts) {
    this.#conflicts = conflicts;
  }

  /** No further conflict is shown. */
  get isFull(): boolean {
    return this.#conflicts <= 0;
  }

  /**
   * What is shown of a conflict: all of its pieces or, where they are too long, none, for half a text settles nothing. It is a copy: a part of a
   * text keeps the whole of it in memory.
   */
  show({ title = '', resolved, ...found }: FileConflict): FileConflict {
    this.#conflicts -= 1;
    const about = title === '' || title.length > longestTitle ? found : { title, ...found };
    const shown = { ...about, resolved: shownPointers(resolved) };
    const most = Math.min(longestConflict, this.#letters);
    const json = isLonger(shown, most) ? null : JSON.stringify(shown);
    if (json !== null && json.length <= most) {
      this.#letters -= json.length;
      return JSON.parse(json);
    }
    const reason =
      most === longestConflict
        ? 'what clashes in it is too long to be shown'
        : 'what clashes in it and in the files before it is too long to be shown together';
    return JSON.parse(JSON.stringify({ reason, ...about, fields: [], hunks: [], resolved: [] }));
  }

  /** What is shown of a file that was merged; null: nothing. */
  showResolved({ fields, ...file }: ResolvedFile): ResolvedFile | null {
    if (this.#files === 0) return null;
    this.#files -= 1;
    const shown = { ...file, fields: shownPointers(fields) };
    const json = JSON.stringify(isLonger(shown, this.#lettersOfFiles) ? { ...file, fields: [] } : shown);
    this.#lettersOfFiles -= json.length;
    return JSON.parse(json);
  }
}

/** A conflict as it is reported. */
export function conflictOf(
  sides: Pick<Sides, 'entryAt'>,
  path: string,
  { base, current, incoming }: FileStages,
  found: FileConflict,
  { previous_path, room = new ConflictRoom() }: { previous_path?: string | undefined; room?: ConflictRoom } = {},
): Conflict {
  const entry = sides.entryAt(path);
  return {
    path,
    ...(previous_path !== undefined && { previous_path }),
    ...(entry && { ...entry, title: titleOfSlug(entry.slug) }),
    ...room.show(found),
    stages: { base: base?.oid ?? null, current: current?.oid ?? null, incoming: incoming?.oid ?? null },
  };
}
