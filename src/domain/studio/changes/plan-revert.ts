import { DomainError, fieldError } from '../../../kernel/errors.ts';
import type { Oid, Snapshot, TreeEntry } from '../../../ports/git-records.ts';
import type { Change } from '../../../ports/git-writes.ts';
import { refusalOf, refusalOfName } from '../content/admission.ts';
import { type CollectionIndex, entryAt } from '../content/collection-index.ts';
import { planDelete } from '../entries/plan/plan-delete.ts';
import { checkSize } from '../entries/saved-entry.ts';
import { judgeWrite } from '../entries/validate.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { ParsedFile } from '../frontmatter/values.ts';
import { planDeleteMedia } from '../media/plan-media.ts';
import { conflicting, type FileConflict, mergeEntry } from '../merge/merge-entry.ts';
import { conflictOf } from '../merge/merge-sides.ts';
import { checkAddress } from '../path-rules.ts';
import { checkPrecondition } from '../repository/branch-rules.ts';
import type { Warning } from '../schema/schema.schema.ts';
import type { StudioContext } from '../studio.ts';
import { bytesOf, type StagedContent, type Step } from './staged-content.ts';
import { checkFree, checkUnseen, checkVersion } from './write-rules.ts';

/**
 * Bringing back what a file was.
 *
 * `undo` takes back what one commit changed in one file and keeps what was changed since: a three-way merge from the commit to the one before
 * it, field by field in an entry, whole in any other file. Where both changed the same, nothing is written and the conflict is reported. A
 * file that is gone comes back as the commit left it, or, when the commit is the one that deleted it, as it was before.
 *
 * `restore` makes the file what it was at the commit, whatever happened since.
 *
 * Either is held against today's site: a place that is no content any more takes no file. A former version may break today's schema, and that of
 * a file that is gone may be unreadable; that is a warning, since refusing it would leave no way back.
 */
export interface Revert {
  target: { collection: string; slug: string } | { path: string };
  commit: Oid;
  mode: 'undo' | 'restore';
  sha?: string | undefined;
  force?: boolean | undefined;
  /** `renamesOf` the commit, where they are known already. */
  renames?: Renames | undefined;
  /** Ends the search for them otherwise. */
  signal?: AbortSignal | undefined;
}

/** Where files that a commit renamed were before, by their new paths. */
type Renames = ReadonlyMap<string, string>;

export interface Reverted {
  path: string;
  collection?: string;
  slug?: string;
  deleted: boolean;
  merged: boolean;
  /** JSON Pointers of what was merged without help. */
  resolved: string[];
}

type RevertContext = Pick<
  StudioContext<'manage_studio' | 'delete_studio'>,
  'git' | 'services' | 'studio' | 'project' | 'conditions' | 'grant' | 'require'
>;

/** The file that is reverted, and the collection it is an entry of. */
interface Place {
  path: string;
  entry: { index: CollectionIndex; slug: string } | null;
}

/** The commit and the one before it. */
interface Versions {
  after: Snapshot;
  before: Snapshot;
}

/** What the file becomes: a version that is stored, merged text, or nothing. */
type Outcome =
  | { kind: 'version'; file: TreeEntry }
  | { kind: 'merged'; bytes: Buffer; resolved: string[] }
  /** @property isRenamed what it was is there again under its former name */
  | { kind: 'gone'; isRenamed: boolean };

const short = (commit: Oid) => commit.slice(0, 10);
const nameOf = ({ path, entry }: Place) => (entry ? `${entry.index.schema.collection}/${entry.slug}` : path);
const same = (one: TreeEntry | null, other: TreeEntry | null) => one?.oid === other?.oid;

async function placeOf(
  { git, studio }: RevertContext,
  { site }: Pick<StagedContent, 'site'>,
  { target, commit }: Revert,
  { after, before }: Versions,
): Promise<Place> {
  if ('path' in target) {
    const path = checkAddress('path', target.path);
    const known = entryAt(site, path);
    return { path, entry: known && { index: site.collection(known.collection), slug: known.slug } };
  }
  const { collection, slug } = target;
  checkAddress('slug', slug);
  const index = site.collection(collection);
  const there = index.find(slug);
  if (there) return { path: there.path, entry: { index, slug } };
  for (const snapshot of [after, before]) {
    const former = (await studio.content.site(git, snapshot)).collections.get(collection);
    const path = former?.find(slug)?.path;
    if (path === undefined) continue;
    if (!index.schema.matches(path))
      throw new DomainError(
        'not_editable',
        `slug: ${path} is in no collection any more; write it anew where it belongs`,
      );
    return { path, entry: { index, slug } };
  }
  throw new DomainError(
    'not_found',
    `${collection} has no entry ${slug.slice(0, 200)}, neither now nor at ${short(commit)}`,
  );
}

/** The file at a path; null where it is missing. @throws DomainError `not_editable` for a link or submodule */
async function fileAt(snapshot: Snapshot, path: string): Promise<TreeEntry | null> {
  const { entry, blocked } = await snapshot.lookup(path);
  if (blocked) throw new DomainError('not_editable', `path: ${blocked} is a symlink or submodule`);
  if (!entry || entry.mode === '40000') return null;
  if (entry.mode === '100644' || entry.mode === '100755') return entry;
  throw new DomainError('not_editable', `path: ${path} is a symlink or submodule`);
}

function checkSeen({ project, conditions }: RevertContext, current: TreeEntry | null, sha: string | undefined): void {
  if (current) {
    checkPrecondition(project, conditions, sha);
    checkVersion(current, conditions, sha);
  } else checkUnseen(conditions, sha);
}

export async function renamesOf(
  { git }: Pick<RevertContext, 'git'>,
  { after, before }: Versions,
  signal?: AbortSignal,
): Promise<Renames> {
  return after.commit && before.commit ? git.renames(before.commit, after.commit, signal) : new Map();
}

async function versionsOf({ git }: Pick<RevertContext, 'git'>, commit: Oid): Promise<Versions> {
  const { parents } = await git.commit(commit);
  return { after: await git.snapshot(commit), before: await git.snapshot(parents[0] ?? null) };
}

/**
 * The renames of the commit, where a revert has to know them: those of a large commit take seconds to find, in which all other writers of the
 * branch would wait. So they are found before its turn, by what the branch holds then.
 * @returns undefined where nothing goes
 * @throws DomainError `forbidden` without delete_studio where the file goes, and what `planRevert` throws for one that is not there
 */
export async function renamesBehind(
  context: RevertContext,
  head: Snapshot,
  revert: Revert,
): Promise<Renames | undefined> {
  if (revert.mode === 'restore') return undefined;
  const versions = await versionsOf(context, revert.commit);
  const site = await context.studio.content.site(context.git, head);
  const { path } = await placeOf(context, { site }, revert, versions);
  if (!(await fileAt(head, path)) || !(await fileAt(versions.after, path))) return undefined;
  if (await fileAt(versions.before, path)) return undefined;
  context.require('delete_studio');
  return renamesOf(context, versions);
}

/**
 * @param changed paths that the same change has brought back already
 * @returns whether the commit made the file out of another, which is there again
 * @throws DomainError `not_editable` when that one is not: deleting the file would not bring it back
 */
function isRenamedBack(
  { path, changed, commit }: { path: string; changed: ReadonlySet<string>; commit: Oid },
  renames: Renames,
): boolean {
  const from = renames.get(path);
  if (from === undefined) return false;
  if (changed.has(from)) return true;
  throw new DomainError('not_editable', `commit: ${short(commit)} renamed ${from} to ${path}; rename it back instead`);
}

/** Takes back what the commit changed, onto the file as it is now. @throws DomainError `merge_conflict` */
async function undo(
  context: RevertContext,
  { tree, changed }: StagedContent,
  place: Place,
  versions: Versions,
  { current, commit, renames, signal }: Pick<Revert, 'commit' | 'renames' | 'signal'> & { current: TreeEntry },
): Promise<Outcome> {
  const { path, entry } = place;
  const [base, incoming] = [await fileAt(versions.after, path), await fileAt(versions.before, path)];
  if (same(base, incoming))
    throw fieldError(
      'validation_failed',
      'commit',
      `did not change ${path}; mode restore brings back the file as it was there`,
    );
  if (same(current, incoming)) return { kind: 'version', file: current };
  // Renames that are not known yet are those of a file reverted alone: with nothing brought back before it, it goes, or the revert is refused.
  if (!incoming && !renames) context.require('delete_studio');
  const isRenamed =
    !incoming && isRenamedBack({ path, changed, commit }, renames ?? (await renamesOf(context, versions, signal)));
  if (same(current, base)) return incoming ? { kind: 'version', file: incoming } : { kind: 'gone', isRenamed };
  const conflict = (found: FileConflict) => {
    const known = entry && { collection: entry.index.schema.collection, slug: entry.slug };
    return new DomainError(
      'merge_conflict',
      `${nameOf(place)} has been changed since, where the commit changed it too`,
      {
        details: {
          conflicts: [conflictOf({ entryAt: () => known }, path, { base, current, incoming }, found)],
          current_sha: current.oid,
        },
      },
    );
  };
  if (!entry) {
    const { conflict: found } = conflicting(incoming ? (base ? 'binary' : 'add_add') : 'delete_modify') as {
      conflict: FileConflict;
    };
    throw conflict(found);
  }
  const blobOf = (file: TreeEntry | null) => (file ? tree.blob(file.oid) : null);
  const [was, now, then] = [await blobOf(base), await tree.blob(current.oid), await blobOf(incoming)];
  const result = mergeEntry({ base: was, current: now, incoming: then, path, schema: entry.index.schema });
  if (result.kind === 'conflict') throw conflict(result.conflict);
  return result.bytes
    ? { kind: 'merged', bytes: result.bytes, resolved: result.resolved }
    : { kind: 'gone', isRenamed };
}

async function outcomeOf(
  context: RevertContext,
  staged: StagedContent,
  { mode, commit, renames, signal }: Revert,
  place: Place,
  versions: Versions,
  current: TreeEntry | null,
): Promise<Outcome> {
  if (mode === 'undo' && current) return undo(context, staged, place, versions, { current, commit, renames, signal });
  const then = await fileAt(versions.after, place.path);
  const version = then ?? (current ? null : await fileAt(versions.before, place.path));
  if (version) return { kind: 'version', file: version };
  if (current) return { kind: 'gone', isRenamed: false };
  throw new DomainError('not_found', `${nameOf(place)} is not there, nor was it at ${short(commit)}`);
}

/** Holds a file that comes back against what its place may hold. @throws DomainError `forbidden`, `invalid_path`, `too_large` … */
async function checkContent(
  context: RevertContext,
  { site }: StagedContent,
  { path, entry }: Place,
  content: Buffer,
  current: TreeEntry | null,
): Promise<void> {
  const unfit = refusalOfName(path);
  if (unfit?.code === 'invalid_path') throw fieldError(unfit.code, 'path', unfit.problem);
  const file = { path, size: content.length, head: content.subarray(0, 4096) };
  // What came with manage_studio comes back with it.
  if (refusalOf(site, file, context.services.settings.media_limit)) context.require('manage_studio');
  if (!entry) return;
  const { error } = parseFile(checkSize(content, 'commit'), path);
  // One that is gone was no easier to read when it was deleted.
  if (!error || !current) return;
  const details = { errors: [{ ...error, field: '/commit' }] };
  throw new DomainError('frontmatter_invalid', `commit: ${unreadable(error)}`, { details });
}

const unreadable = ({ message, line, column }: NonNullable<ParsedFile['error']>) =>
  `the version it has cannot be read: ${message} (line ${line}, column ${column})`;

/** What is wrong with the entry by today's schema, all of it as warnings. */
async function warningsOf(
  after: StagedContent,
  { path, entry }: Place,
  bytes: Buffer,
  before: Buffer | null,
): Promise<Warning[]> {
  if (!entry) return [];
  const { collection } = entry.index.schema;
  const { frontmatter, error } = parseFile(bytes, path);
  if (error) return [{ code: error.code, message: unreadable(error), path, collection }];
  const { errors, warnings } = await judgeWrite(after, entry.index, {
    paths: [path],
    wanted: frontmatter ?? {},
    stored: before && parseFile(before, path).frontmatter,
  });
  const caused = errors.map(({ code, field, message }) => ({
    code,
    message: `${field.replace(/^\/frontmatter\//, '').replaceAll('/', '.')}: ${message}`,
    path,
    collection,
  }));
  return [...caused, ...warnings];
}

/** The mode of a file that comes back: none becomes executable without the permission that a push of it needs. */
const modeBack = ({ grant }: RevertContext, then: TreeEntry, current: TreeEntry | null) =>
  grant.permissions.has('manage_studio') ? then.mode : (current?.mode ?? '100644');

/**
 * Plans a revert.
 * @throws DomainError `not_found`, `not_editable`, `precondition_failed`, `sha_mismatch`, `merge_conflict` with `details.conflicts`,
 * `validation_failed` for a commit that did not change the file, `forbidden` without delete_studio where the file goes, `in_use` there
 */
export async function planRevert(
  context: RevertContext,
  staged: StagedContent,
  revert: Revert,
): Promise<Step<Reverted>> {
  const versions = await versionsOf(context, revert.commit);
  const place = await placeOf(context, staged, revert, versions);
  const { path, entry } = place;
  const current = await fileAt(staged.tree, path);
  checkSeen(context, current, revert.sha);
  const outcome = await outcomeOf(context, staged, revert, place, versions, current);
  const of = entry && { collection: entry.index.schema.collection, slug: entry.slug };
  const result: Reverted = { path, ...of, deleted: false, merged: false, resolved: [] };
  const summary = `${revert.mode === 'undo' ? 'Revert' : 'Restore'} ${nameOf(place)} ${revert.mode === 'undo' ? 'as changed by' : 'as of'} ${short(revert.commit)}`;
  const { sha, force } = revert;
  if (outcome.kind === 'gone') {
    if (!outcome.isRenamed) context.require('delete_studio');
    const step = of
      ? await planDelete(context, staged, { collection: of.collection, entry: of.slug, sha, force })
      : await planDeleteMedia(context, staged, { path, sha, force });
    return { ...step, summary, result: { ...result, deleted: true } };
  }
  if (outcome.kind === 'version' && same(outcome.file, current))
    return { changes: [], summary, result, check: async () => [] };
  const bytes = outcome.kind === 'merged' ? outcome.bytes : await staged.tree.blob(outcome.file.oid);
  await checkContent(context, staged, place, bytes, current);
  const content = outcome.kind === 'merged' ? await staged.contents.keep(bytes) : { oid: outcome.file.oid };
  if (!current) await checkFree(staged.tree, path, entry ? 'slug' : 'path');
  const mode = outcome.kind === 'version' ? modeBack(context, outcome.file, current) : undefined;
  const change: Change = { path, content, ...(mode && { mode }) };
  const merged = outcome.kind === 'merged' && { merged: true, resolved: outcome.resolved };
  return {
    changes: [change],
    summary,
    result: { ...result, ...merged },
    async check(after) {
      if (!entry) return [];
      return warningsOf(
        after,
        place,
        await bytesOf(staged.tree, content),
        current && (await staged.tree.blob(current.oid)),
      );
    },
  };
}
