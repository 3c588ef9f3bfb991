import { DomainError } from '../../../kernel/errors.ts';
import { parsePointer } from '../../../lib/json-pointer.ts';
import type { TreeFile } from '../../../ports/git-records.ts';
import type { Change } from '../../../ports/git-writes.ts';
import type { StagedContent } from '../changes/staged-content.ts';
import { checkFree } from '../changes/write-rules.ts';
import { isContent, refusalOf } from '../content/admission.ts';
import { type CollectionIndex, type IndexedEntry, schemaAt } from '../content/collection-index.ts';
import { withoutExtension } from '../frameworks/routing/paths.ts';
import { editOpened } from '../frontmatter/edit-file.ts';
import { openFile } from '../frontmatter/parse-file.ts';
import { pathForSlug } from '../slug.ts';
import type { StudioContext } from '../studio.ts';
import { namedIn, referenceIds, referencesTo } from './references.ts';

type Context = Pick<StudioContext<'manage_studio'>, 'services' | 'studio' | 'git' | 'require'>;

/** Bytes at the start of a file that show its type. */
const headBytes = 4096;

/** A rename as file changes: the entry's own file or bundle, and the entries that point to it. */
export interface Rename {
  path: string;
  changes: Change[];
  /** New paths of the files that move along. */
  assets: string[];
  /** Slugs, with their collections, of the entries whose relations were rewritten. */
  references: string[];
}

/** Where an entry goes, and the field of the input that says so. */
interface Goal {
  slug: string;
  field: string;
}

/** A file that moves along, as it is. @throws DomainError `not_editable` for a submodule, `forbidden` */
async function moveAlong(
  context: Context,
  { tree, site }: Pick<StagedContent, 'tree' | 'site'>,
  file: TreeFile,
  to: string,
  field: string,
) {
  const { path, mode, oid } = file;
  if (mode === '160000') throw new DomainError('not_editable', `${field}: ${path} is a submodule and cannot be moved`);
  const content = await tree.blob(oid);
  checkMove(context, site, { from: path, to, mode, content }, field);
  return [
    { path, content: null },
    { path: to, content, mode },
  ];
}

/** The files of a directory called like the entry, which only its page shows; entries there stay. */
async function moveAssets(
  context: Context,
  staged: Pick<StagedContent, 'tree' | 'site'>,
  place: IndexedEntry,
  target: string,
  field: string,
): Promise<{ changes: Change[]; assets: string[] }> {
  const [from, to] = [withoutExtension(place.path), withoutExtension(target)];
  const below = (await staged.tree.treeOid(from)) === null ? [] : await staged.tree.files(from);
  const files = below.filter((file) => schemaAt(staged.site, `${from}/${file.path}`) === undefined);
  if (files.length > 0) await checkFree(staged.tree, to, field);
  const changes: Change[] = [];
  for (const file of files)
    changes.push(
      ...(await moveAlong(context, staged, { ...file, path: `${from}/${file.path}` }, `${to}/${file.path}`, field)),
    );
  return { changes, assets: files.map((file) => `${to}/${file.path}`) };
}

async function moveFile(
  context: Context,
  { tree, site }: Pick<StagedContent, 'tree' | 'site'>,
  index: CollectionIndex,
  place: IndexedEntry,
  { slug, field }: Goal,
  bytes: Buffer,
) {
  const target = pathForSlug(index.schema, slug, { format: place.path.slice(place.path.lastIndexOf('.') + 1) });
  await checkFree(tree, target, field);
  const along = index.schema.asset_folders ? await moveAssets(context, { tree, site }, place, target, field) : null;
  return {
    path: target,
    changes: [{ path: place.path, content: null }, { path: target, content: bytes }, ...(along?.changes ?? [])],
    assets: along?.assets ?? [],
  };
}

/** What moves along with an entry must be what the caller could take away and bring in by itself. @throws DomainError `forbidden` */
function checkMove(
  { services, require: requirePermission }: Context,
  site: StagedContent['site'],
  file: { from: string; to: string; mode: string; content: Buffer },
  field: string,
): void {
  const { from, to, mode, content } = file;
  const offered = { path: to, size: content.length, head: content.subarray(0, headBytes) };
  const refused = refusalOf(site, offered, services.settings.media_limit);
  if (refused === null && isContent(site, from, mode)) return;
  try {
    requirePermission('manage_studio');
  } catch (cause) {
    const what = refused?.problem ?? 'is outside collections and media';
    const message = `${field}: ${from} would move along, and ${to} ${what}; that needs the permission manage_studio`;
    throw new DomainError('forbidden', message, { cause });
  }
}

/** An entry that is the index of a directory moves with everything in it. */
async function moveBundle(
  context: Context,
  { tree, site }: Pick<StagedContent, 'tree' | 'site'>,
  { from, to, field }: { from: string; to: string; field: string },
  place: IndexedEntry,
  bytes: Buffer,
) {
  await checkFree(tree, to, field);
  const changes: Change[] = [];
  const assets: string[] = [];
  for (const file of await tree.files(from)) {
    const path = `${from}/${file.path}`;
    const target = `${to}/${file.path}`;
    if (path === place.path) changes.push({ path, content: null }, { path: target, content: bytes, mode: file.mode });
    else {
      changes.push(...(await moveAlong(context, { tree, site }, { ...file, path }, target, field)));
      assets.push(target);
    }
  }
  return { path: `${to}${place.path.slice(from.length)}`, changes, assets };
}

/** A copy of a value with the slug at one pointer replaced; a relation is a slug, or an object that names it. */
function pointAt(value: unknown, names: readonly string[], slug: string): unknown {
  const [name, ...rest] = names;
  if (name === undefined) {
    if (value === null || typeof value !== 'object') return slug;
    return 'id' in value ? { ...value, id: slug } : { ...value, slug };
  }
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === name ? pointAt(item, rest, slug) : item));
  const record = value as Record<string, unknown>;
  return { ...record, [name]: pointAt(record[name], rest, slug) };
}

/**
 * Plans a rename: where the entry goes, what moves with it, and every relation the schemas declare rewritten to the new slug.
 * @param bytes the entry's content after the other edits of the same save.
 */
export async function renameEntry(
  context: Context,
  { tree, site }: Pick<StagedContent, 'tree' | 'site'>,
  index: CollectionIndex,
  place: IndexedEntry,
  goal: Goal,
  bytes: Buffer,
): Promise<Rename> {
  const { slug, field } = goal;
  const { collection, path: root } = index.schema;
  const directory = place.path.slice(0, Math.max(place.path.lastIndexOf('/'), 0));
  const from = [root, place.slug].filter(Boolean).join('/');
  const to = [root, slug].filter(Boolean).join('/');
  const moved =
    directory === from
      ? await moveBundle(context, { tree, site }, { from, to, field }, place, bytes)
      : await moveFile(context, { tree, site }, index, place, goal, bytes);
  const references = await referencesTo(context, { tree, site }, namedIn(site, { collection, slug: place.slug }));
  // A relation is written in one of several forms; it keeps its form.
  const before = referenceIds(index.schema, place);
  const after = referenceIds(index.schema, { slug, path: moved.path });
  const byPath = Map.groupBy(references, (reference) => reference.path);
  for (const [path, pointers] of byPath) {
    if (path === place.path) continue;
    const { entry } = await tree.lookup(path);
    const content = openFile(await tree.blob(entry?.oid ?? ''), path);
    let frontmatter: unknown = content.parsed.frontmatter ?? {};
    for (const { field: pointer, id } of pointers)
      frontmatter = pointAt(frontmatter, parsePointer(pointer) ?? [], after[before.indexOf(id)] ?? slug);
    const edited = editOpened(content, path, { frontmatter: frontmatter as Record<string, unknown> });
    moved.changes.push({ path, content: edited.bytes });
  }
  return { ...moved, references: [...new Set(references.map((item) => `${item.collection}/${item.slug}`))] };
}
