import { DomainError, fieldError } from '../../../../kernel/errors.ts';
import { Pace, setYielding } from '../../../../lib/concurrency.ts';
import { parsePointer } from '../../../../lib/json-pointer.ts';
import type { TreeFile } from '../../../../ports/git-records.ts';
import type { Change } from '../../../../ports/git-writes.ts';
import { bytesOf, type StagedContent } from '../../changes/staged-content.ts';
import { checkFree } from '../../changes/write-rules.ts';
import { isContent, refusalOf } from '../../content/admission.ts';
import { type CollectionIndex, type IndexedEntry, schemaAt } from '../../content/collection-index.ts';
import { withoutExtension } from '../../frameworks/routing/paths.ts';
import { editOpened } from '../../frontmatter/edit-file.ts';
import { type FileContent, openFile, parseFile } from '../../frontmatter/parse-file.ts';
import { type Frontmatter, limits } from '../../frontmatter/values.ts';
import { type Moves, relink, relinkValue } from '../../media/relative-links.ts';
import { foldIndex, pathForSlug } from '../../slug.ts';
import type { StudioContext } from '../../studio.ts';
import { assetFolder, bundleOf } from '../own-files.ts';
import { namedIn, referenceIds, referencesTo } from '../references.ts';

type Context = Pick<StudioContext<'manage_studio'>, 'services' | 'studio' | 'git' | 'require'>;

type Content = NonNullable<Change['content']>;
type Staged = Pick<StagedContent, 'tree' | 'site' | 'contents'>;

/** References of one entry that are rewritten: one with more of them has more signs than can be edited by fields, and is refused. */
const mostPointed = limits.editedSigns + 2;

/** Bytes at the start of a file that show its type. */
const headBytes = 4096;

/** A rename as file changes: the entry's own file or bundle, and the entries that point to it. */
export interface Rename {
  /** What the entry is called afterwards. */
  slug: string;
  path: string;
  changes: Change[];
  /** New paths of the files that move along. */
  assets: string[];
  /** Slugs, with their collections, of the entries whose relations or links were rewritten. */
  references: string[];
  /** The entry as it is stored: its own relative links lead where they led. */
  content: FileContent;
}

/** Where an entry goes, and the field of the input that says so. */
interface Goal {
  slug: string;
  field: string;
}

/**
 * Files that move along, as they are. What they hold is read once, however many have it, and only where not everything may be moved.
 * @throws DomainError `not_editable` for a submodule, `forbidden`
 */
async function moveAlong(
  context: Context,
  { tree, site }: Pick<StagedContent, 'tree' | 'site'>,
  files: readonly TreeFile[],
  targetOf: (file: TreeFile) => string,
  field: string,
): Promise<Change[]> {
  const submodule = files.find(({ mode }) => mode === '160000');
  if (submodule)
    throw new DomainError('not_editable', `${field}: ${submodule.path} is a submodule and cannot be moved`);
  const needed = missingRight(context);
  if (needed !== null) {
    const byContent = Map.groupBy(files, ({ oid }) => oid);
    const pace = new Pace();
    for await (const { oid, content } of tree.blobs([...byContent.keys()]))
      for (const file of byContent.get(oid) ?? []) {
        if (pace.isDue) await pace.yield();
        const problem = moveProblem(context, site, file, targetOf(file), content);
        if (problem !== null) throw new DomainError('forbidden', `${field}: ${problem}`, { cause: needed });
      }
  }
  return files.flatMap((file) => [
    { path: file.path, content: null },
    { path: targetOf(file), content: { oid: file.oid }, mode: file.mode },
  ]);
}

/** Why not everything may be moved; null: it may. */
function missingRight({ require: requirePermission }: Context): unknown {
  try {
    requirePermission('manage_studio');
    return null;
  } catch (error) {
    return error;
  }
}

/** Why a file that moves along with an entry is not what the caller could take away and bring in by itself; null: it is. */
function moveProblem(
  { services }: Context,
  site: StagedContent['site'],
  { path, mode }: TreeFile,
  to: string,
  content: Buffer,
): string | null {
  const offered = { path: to, size: content.length, head: content.subarray(0, headBytes) };
  const refused = refusalOf(site, offered, services.settings.media_limit);
  if (refused === null && isContent(site, path, mode)) return null;
  const what = refused?.problem ?? 'is outside collections and media';
  return `${path} would move along, and ${to} ${what}; that needs the permission manage_studio`;
}

/** The asset folder of an entry moves along. */
async function moveAssets(
  context: Context,
  staged: Pick<StagedContent, 'tree' | 'site'>,
  place: IndexedEntry,
  target: string,
  field: string,
): Promise<{ changes: Change[]; assets: string[] }> {
  const [from, to] = [withoutExtension(place.path), withoutExtension(target)];
  const files = await assetFolder(staged, place);
  if (files.length > 0) await checkFree(staged.tree, to, field);
  const targetOf = ({ path }: TreeFile) => to + path.slice(from.length);
  return { changes: await moveAlong(context, staged, files, targetOf, field), assets: files.map(targetOf) };
}

/** Where the collection keeps an entry under another slug. @throws DomainError `invalid_name` */
function placeFor({ schema }: CollectionIndex, slug: string, { path }: IndexedEntry, field: string): string {
  try {
    return pathForSlug(schema, slug, { format: path.slice(path.lastIndexOf('.') + 1) });
  } catch (error) {
    throw error instanceof DomainError ? fieldError(error.code, field, error.message) : error;
  }
}

async function moveFile(
  context: Context,
  { tree, site }: Pick<StagedContent, 'tree' | 'site'>,
  index: CollectionIndex,
  place: IndexedEntry,
  { slug, field }: Goal,
  content: Content,
) {
  const target = placeFor(index, slug, place, field);
  await checkFree(tree, target, field);
  const along = index.schema.asset_folders ? await moveAssets(context, { tree, site }, place, target, field) : null;
  return {
    path: target,
    changes: [{ path: place.path, content: null }, { path: target, content }, ...(along?.changes ?? [])],
    assets: along?.assets ?? [],
  };
}

/** An entry that is the index of a directory moves with everything in it. */
async function moveBundle(
  context: Context,
  { tree, site }: Pick<StagedContent, 'tree' | 'site'>,
  { schema }: CollectionIndex,
  { from, to, field }: { from: string; to: string; field: string },
  place: IndexedEntry,
  content: Content,
) {
  const index = `${to}${place.path.slice(from.length)}`;
  if (!schema.matches(index))
    throw fieldError('invalid_name', field, `"${index}" is not a path of collection "${schema.collection}"`);
  await checkFree(tree, to, field);
  const files = (await tree.files(from)).map((file) => ({ ...file, path: `${from}/${file.path}` }));
  const targetOf = ({ path }: Pick<TreeFile, 'path'>) => `${to}${path.slice(from.length)}`;
  const along = files.filter(({ path }) => path !== place.path);
  const moved = await moveAlong(context, { tree, site }, along, targetOf, field);
  const { mode } = files.find(({ path }) => path === place.path) ?? {};
  const own = [
    { path: place.path, content: null },
    { path: index, content, ...(mode !== undefined && { mode }) },
  ];
  return { path: index, changes: [...own, ...moved], assets: along.map(targetOf) };
}

/** A value with another slug in it: a relation is a slug, or an object that names it. */
function pointed(value: unknown, slug: string): unknown {
  if (value === null || typeof value !== 'object') return slug;
  return 'id' in value ? { ...value, id: slug } : { ...value, slug };
}

/** Sets a key, which may be `__proto__`, as an ordinary one. */
const put = (holder: Frontmatter, name: string, value: unknown) =>
  Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true });

/**
 * A copy of a frontmatter whose relations at some pointers name other entries. What holds a relation is copied once, however many it holds: a list
 * has room for a hundred thousand.
 */
export function pointRelations(
  frontmatter: Frontmatter,
  relations: Iterable<{ pointer: string; slug: string }>,
): Frontmatter {
  const copies = new Set<unknown>();
  const copyOf = (value: unknown): Frontmatter => {
    if (copies.has(value)) return value as Frontmatter;
    const copy = Array.isArray(value) ? [...value] : { ...(value as Frontmatter) };
    copies.add(copy);
    return copy as Frontmatter;
  };
  const whole = copyOf(frontmatter);
  for (const { pointer, slug } of relations) {
    const names = parsePointer(pointer) ?? [];
    let holder = whole;
    for (const name of names.slice(0, -1)) {
      const inner = copyOf(holder[name]);
      put(holder, name, inner);
      holder = inner;
    }
    const last = names.at(-1);
    if (last !== undefined) put(holder, last, pointed(holder[last], slug));
  }
  return whole;
}

/** A file with its relative links as the moves want them; null: it stays as it is. */
async function relinked(bytes: Buffer, moves: Moves): Promise<FileContent | null> {
  const opened = openFile(bytes, moves.from);
  const { frontmatter, body, error } = opened.parsed;
  if (error || !opened.split) return null;
  const text = await relink(body, moves);
  const values = frontmatter && (relinkValue(frontmatter, moves) as Frontmatter);
  const isSame = JSON.stringify(values) === JSON.stringify(frontmatter);
  if (text === body && isSame) return null;
  const changes = { ...(text !== body && { body: text }), ...(!isSame && values && { frontmatter: values }) };
  try {
    return editOpened(opened, moves.from, changes);
  } catch (error) {
    // What cannot be edited exactly keeps its links.
    if (error instanceof DomainError) return null;
    throw error;
  }
}

/** Names that are looked for in an entry before its links are: to look for thousands in megabytes takes minutes, and for its links less than for these. */
const mostSearched = 30;

/** Lets the relative links of all entries lead where they led before files moved. @returns entries that did not move themselves and were changed */
async function relinkEntries(
  { studio, git }: Context,
  { tree, site, contents }: Staged,
  changes: Change[],
  moved: ReadonlyMap<string, string>,
): Promise<string[]> {
  const paths = await setYielding(await tree.files(), (file) => file.path);
  const existed = (path: string) => paths.has(path);
  const written = new Map(changes.filter(({ content }) => content !== null).map((change) => [change.path, change]));
  for (const [from, to] of moved) {
    const change = written.get(to);
    if (!change?.content || !schemaAt(site, from)) continue;
    const edited = await relinked(await bytesOf(tree, change.content), { from, to, moved, existed });
    if (edited) change.content = await contents.keep(edited.bytes);
  }
  const names = [...moved.keys()].map((path) => path.slice(path.lastIndexOf('/') + 1));
  const searched = new Set(names.flatMap((name) => [name, encodeURIComponent(name), withoutExtension(name)]));
  const entries: { collection: string; slug: string; path: string; oid: string }[] = [];
  const pace = new Pace();
  for (const [collection, index] of site.collections) {
    let at = 0;
    for await (const { links } of studio.content.eachFacts(git, tree, index.entries)) {
      const { slug = '', path = '', oid = '' } = index.entries[at++] ?? {};
      if (pace.isDue) await pace.yield();
      if (links && !moved.has(path)) entries.push({ collection, slug, path, oid });
    }
  }
  const changed: string[] = [];
  let next = 0;
  for await (const { content } of tree.blobs(entries.map(({ oid }) => oid))) {
    if (pace.isDue) await pace.yield();
    const entry = entries[next++];
    if (!entry) continue;
    const { collection, slug, path } = entry;
    const change = written.get(path);
    const bytes = change?.content ? await bytesOf(tree, change.content) : content;
    if (searched.size <= mostSearched && ![...searched].some((name) => bytes.includes(name))) continue;
    const edited = await relinked(bytes, { from: path, to: path, moved, existed });
    if (!edited) continue;
    const kept = await contents.keep(edited.bytes);
    if (change) change.content = kept;
    else changes.push({ path, content: kept });
    changed.push(`${collection}/${slug}`);
  }
  return changed;
}

/**
 * Plans a rename: where the entry goes, what moves with it, every relation the schemas declare rewritten to the new slug, and
 * relative links of any entry so that they lead where they led.
 * @param content the entry's content after the other edits of the same save.
 */
export async function renameEntry(
  context: Context,
  { tree, site, contents }: Staged,
  index: CollectionIndex,
  place: IndexedEntry,
  goal: Goal,
  content: Content,
): Promise<Rename> {
  const { field } = goal;
  const { collection, path: root, slugs } = index.schema;
  const from = bundleOf(index, place);
  const to = [root, goal.slug].filter(Boolean).join('/');
  const moved =
    from !== null
      ? await moveBundle(context, { tree, site }, index, { from, to, field }, place, content)
      : await moveFile(context, { tree, site }, index, place, goal, content);
  // The index of a directory is called like the directory, unless another entry is.
  const folded = from === null ? foldIndex(goal.slug, slugs.index_names) : null;
  const slug = folded === null || (folded !== place.slug && index.find(folded)) ? goal.slug : folded;
  const references = await referencesTo(context, { tree, site }, [namedIn(site, { collection, slug: place.slug })], {
    most: mostPointed,
  });
  // A relation is written in one of several forms; it keeps its form.
  const before = referenceIds(index.schema, place);
  const after = referenceIds(index.schema, { slug, path: moved.path });
  const byPath = Map.groupBy(references, (reference) => reference.path);
  for (const [path, pointers] of byPath) {
    if (path === place.path) continue;
    const { entry } = await tree.lookup(path);
    const opened = openFile(await tree.blob(entry?.oid ?? ''), path);
    const relations = pointers.map(({ field: pointer, id }) => ({ pointer, slug: after[before.indexOf(id)] ?? slug }));
    const frontmatter = pointRelations(opened.parsed.frontmatter ?? {}, relations);
    const edited = editOpened(opened, path, { frontmatter });
    moved.changes.push({ path, content: await contents.keep(edited.bytes) });
  }
  const source = (asset: string) =>
    from === null
      ? withoutExtension(place.path) + asset.slice(withoutExtension(moved.path).length)
      : from + asset.slice(to.length);
  const moves = new Map([[place.path, moved.path], ...moved.assets.map((asset) => [source(asset), asset] as const)]);
  const linked = await relinkEntries(context, { tree, site, contents }, moved.changes, moves);
  const own = moved.changes.find((change) => change.path === moved.path)?.content;
  const stored = await bytesOf(tree, own ?? content);
  const related = references.map((item) => `${item.collection}/${item.slug}`);
  return {
    ...moved,
    slug,
    references: [...new Set([...related, ...linked])],
    content: { bytes: stored, parsed: parseFile(stored, moved.path) },
  };
}
