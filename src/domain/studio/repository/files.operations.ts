import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { forEachYielding, Pace } from '../../../lib/concurrency.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Snapshot, TreeEntry, TreeFile } from '../../../ports/git-records.ts';
import { isContent } from '../content/admission.ts';
import { entryAt } from '../content/collection-index.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { mimeOf } from '../mime.ts';
import { checkAddress, checkStoredPath } from '../path-rules.ts';
import { studioOperation } from '../studio-operation.ts';
import { viewOf } from '../view.ts';
import { readLfsPointer } from './lfs-pointer.ts';
import { refInput, snapshotOf } from './refs.ts';
import { file, filetree } from './repository.schema.ts';

const maxItems = 200_000;
const inlineLimit = 5 * 1024 * 1024;

const typeOf = (mode: string) => (mode === '40000' ? 'tree' : mode === '160000' ? 'commit' : 'blob');

interface Item {
  path: string;
  type: 'blob' | 'tree' | 'commit';
  mode: string;
  sha: string;
  size?: number;
}

/** An item before its objects are looked up: a file, or a directory. */
interface Place {
  path: string;
  file: TreeFile | null;
}

interface Shown {
  levels: number;
  /** Without directories. */
  flat: boolean;
}

/** What is shown of files, each directory before what it holds. In git's order the files of a directory follow each other. */
function* placesOf(files: readonly TreeFile[], { levels, flat }: Shown): Generator<Place> {
  let before = '';
  for (const file of files) {
    const { path } = file;
    let level = 1;
    for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1), level += 1) {
      if (flat || level > levels || before.startsWith(path.slice(0, slash + 1))) continue;
      yield { path: path.slice(0, slash), file: null };
    }
    if (level <= levels) yield { path, file };
    before = path;
  }
}

/** Bytes of an item as JSON, beside its path. */
const itemSize = 105;

/** Bytes of the items as JSON, before they are made. */
async function sizeOf(files: readonly TreeFile[], shown: Shown): Promise<number> {
  const pace = new Pace();
  let bytes = 0;
  let count = 0;
  for (const { path } of placesOf(files, shown)) {
    if (pace.isDue) await pace.yield();
    bytes += itemSize + path.length;
    count += 1;
    if (count === maxItems) break;
  }
  return bytes;
}

/** The items of a tree, at most as many as are shown, and whether there are more. */
async function itemsOf(snapshot: Snapshot, root: string, files: readonly TreeFile[], shown: Shown) {
  const items: Item[] = [];
  const pace = new Pace();
  for (const { path, file } of placesOf(files, shown)) {
    if (pace.isDue) await pace.yield();
    if (items.length === maxItems) return { items, truncated: true };
    if (file) items.push({ path, type: typeOf(file.mode), mode: file.mode, sha: file.oid });
    else {
      const sha = await snapshot.treeOid(root === '' ? path : `${root}/${path}`);
      items.push({ path, type: 'tree', mode: '40000', sha: sha ?? '' });
    }
  }
  return { items, truncated: false };
}

async function addSizes(git: Repository, items: readonly Item[]): Promise<void> {
  const blobs: Item[] = [];
  await forEachYielding(items, (item) => {
    if (item.type === 'blob') blobs.push(item);
  });
  const sizes = await git.sizes(blobs.map((item) => item.sha));
  let at = 0;
  await forEachYielding(blobs, (item) => {
    const size = sizes[at++];
    if (size != null) item.size = size;
  });
}

export const getFiletree = studioOperation({
  name: 'studio.getFiletree',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Full project tree',
  input: z.object({
    ...refInput,
    path: z.string().optional().describe('Directory to list; default: the root'),
    depth: z.int32().min(1, 'must be at least 1').max(64, 'must be at most 64').optional().describe('Levels below it'),
    flat: z.boolean().optional().describe('Files only, without directories'),
  }),
  output: filetree,
  async execute({ git, tag, room }, { path, depth, flat, ...at }) {
    const snapshot = await snapshotOf(git, at);
    const root = path === undefined || path === '' ? '' : checkAddress('path', path);
    const tree_sha = await snapshot.treeOid(root);
    if (tree_sha === null && root !== '') checkStoredPath('path', root);
    if (tree_sha === null && root !== '') throw new DomainError('not_found', `path: ${root} is not a directory`);
    if (tree_sha) tag(`"${tree_sha}.${viewOf({ root, depth, flat, commit: snapshot.commit })}"`);
    const below = await snapshot.files(root);
    const shown = { levels: depth ?? 64, flat: flat ?? false };
    await room(await sizeOf(below, shown));
    const { items, truncated } = await itemsOf(snapshot, root, below, shown);
    await addSizes(git, items);
    if (root !== '') for (const item of items) item.path = `${root}/${item.path}`;
    return { commit: snapshot.commit, tree_sha, truncated, tree: items };
  },
});

/** What a file is to the studio. */
function kindOf(site: SiteIndex, path: string, mode: string): Pick<z.output<typeof file>, 'kind' | 'entry'> {
  const entry = entryAt(site, path);
  if (entry) return { kind: 'entry', entry: { collection: entry.collection, slug: entry.slug } };
  return { kind: isContent(site, path, mode) ? 'media' : 'other' };
}

/** @throws DomainError `not_found`, also for what is no file */
async function storedFile(snapshot: Snapshot, path: string): Promise<TreeEntry> {
  const { entry } = await snapshot.lookup(path);
  if (!entry) checkStoredPath('path', path);
  if (!entry || typeOf(entry.mode) !== 'blob') throw new DomainError('not_found', `path: ${path} is not a file`);
  return entry;
}

export const locateFile = studioOperation({
  name: 'studio.locateFile',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'The version of a file, of which nothing is read',
  input: z.object({ ...refInput, path: z.string() }),
  output: file.pick({ sha: true }),
  async execute({ git }, { path, ...at }) {
    const { oid } = await storedFile(await snapshotOf(git, at), checkAddress('path', path));
    return { sha: oid };
  },
});

export const getFile = studioOperation({
  name: 'studio.getFile',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Single file',
  input: z.object({
    ...refInput,
    path: z.string(),
    raw: z.boolean().optional().describe('REST: the bytes themselves instead of a record'),
    include: z
      .array(z.enum(['kind']))
      .max(1)
      .optional()
      .describe('kind: whether it is an entry or media, which have endpoints of their own'),
  }),
  output: file,
  async execute({ git, studio, tag, attach, room }, { path: requested, raw, include, ...at }) {
    const path = checkAddress('path', requested);
    const snapshot = await snapshotOf(git, at);
    const entry = await storedFile(snapshot, path);
    // The rest of the tree decides what the file is.
    const site = include?.includes('kind') && snapshot.tree ? await studio.content.site(git, snapshot) : null;
    tag(`"${entry.oid}.${viewOf({ path, raw, ...(site && { tree: snapshot.tree }) })}"`);
    const [size] = await git.sizes([entry.oid]);
    if (!raw && (size ?? 0) > inlineLimit)
      throw new DomainError(
        'too_large',
        `path: the file has ${size} bytes; over ${inlineLimit} only raw=true reads it`,
      );
    await room(size ?? 0);
    const content = await snapshot.blob(entry.oid);
    const isText = !content.includes(0) && isUtf8(content);
    // As base64 in the record a large file would be in memory several times over.
    if (raw) attach(content);
    const lfs = readLfsPointer(content);
    return {
      path,
      name: path.slice(path.lastIndexOf('/') + 1),
      sha: entry.oid,
      size: content.length,
      encoding: isText ? ('utf-8' as const) : ('base64' as const),
      content: raw ? '' : content.toString(isText ? 'utf8' : 'base64'),
      mime: mimeOf(path, isText),
      ...(lfs && { lfs }),
      ...(entry.mode === '120000' && { symlink_target: content.toString('utf8') }),
      ...(site && kindOf(site, path, entry.mode)),
    };
  },
});
