import path from 'node:path';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { filterYielding, Pace, sortYielding } from '../../../lib/concurrency.ts';
import { decodedUri } from '../../../lib/text.ts';
import type { Snapshot, TreeFile } from '../../../ports/git-records.ts';
import { commitStep } from '../changes/staged-content.ts';
import { authorOf } from '../changes/write-rules.ts';
import { entryIn } from '../content/collection-index.ts';
import { siteFilesOf } from '../content/site-files.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { writeInput } from '../entries/entries.schema.ts';
import { entriesInput } from '../entries/references.operations.ts';
import { encodePath } from '../frameworks/routing/paths.ts';
import { foldText } from '../frontmatter/words.ts';
import { checkAddress, checkStoredPath, pathBytes } from '../path-rules.ts';
import { directBranch } from '../repository/branch-rules.ts';
import { refInput, snapshotOf } from '../repository/refs.ts';
import { commit } from '../repository/repository.schema.ts';
import { entryRoutes } from '../routes/entry-routes.ts';
import { below } from '../schema/site-layout.ts';
import { studioOperation } from '../studio-operation.ts';
import { viewOf } from '../view.ts';
import { media, mediaKind } from './media.schema.ts';
import { mediaFacts, mediaRecord, mediaRootOf } from './media-facts.ts';
import { type MediaKind, mediaExtensions, mediaTypeOf } from './media-types.ts';
import { planDeleteMedia } from './plan-media.ts';

/** What could be the path or URL of a file in a text: in Markdown, HTML or a value of the frontmatter. */
const token = /[^\s"'`()<>[\]{}|,;]+/g;
const ending = new RegExp(`\\.(?:${mediaExtensions.join('|')})(?![\\w-])`, 'gi');

/** Names of one text that are looked for: each takes two microseconds. */
const mostNames = 10_000;

/** The longest beginnings of tokens that end as a file's name does. */
function* namesIn(text: string): Generator<string> {
  let left = mostNames;
  for (const [run] of text.matchAll(token)) {
    if (run.length > pathBytes || !run.includes('.')) continue;
    const last = [...run.matchAll(ending)].at(-1);
    if (!last || last.index === 0) continue;
    if (left === 0) return;
    left -= 1;
    yield run.slice(0, last.index + last[0].length);
  }
}

/** A site, and the path all of it lies below, percent-encoded; `''` for none. */
type Published = Pick<SiteIndex, 'discovery'> & { base: string };

/** The paths in the repository that a text in an entry may mean: as a URL of the site, from the entry, from the root, or by an alias. */
function* meanings({ discovery, base: whole }: Published, entry: string, text: string): Generator<string> {
  const { mediaRoots, contentRoot } = discovery;
  const rest = text.replace(/^(?:\/|[~@]\/)/, '');
  if (text.startsWith('/')) {
    const home = [whole, decodedUri(whole)].find((one) => one !== '' && text.startsWith(`${one}/`));
    const urls = home === undefined ? [rest] : [text.slice(home.length + 1), rest];
    for (const root of mediaRoots) {
      if (root.public_path == null) continue;
      const base = root.public_path.replace(/^\/|\/$/g, '');
      const inside = base === '' ? '' : `${base}/`;
      for (const url of urls) if (url.startsWith(inside)) yield path.posix.join(root.path, url.slice(inside.length));
    }
  } else if (/^[~@]\//.test(text)) yield path.posix.join(contentRoot, 'src', rest);
  else yield path.posix.join(path.posix.dirname(entry), text);
  yield path.posix.join(rest);
}

/** Paths of the files that an entry's text names, in the order it does. @param isFile whether a file is at a path */
function mentionedMedia(site: Published, entry: string, text: string, isFile: (path: string) => boolean): string[] {
  const found = new Set<string>();
  for (const written of namesIn(text)) {
    for (const form of new Set([written, decodedUri(written)])) {
      const meant = [...meanings(site, entry, form)].find((candidate) => isFile(candidate));
      if (meant !== undefined) found.add(meant);
    }
  }
  return [...found];
}

interface Item {
  path: string;
  name: string;
  type: 'file' | 'dir';
  oid: string;
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const kindOf = (path: string): MediaKind => mediaTypeOf(path)?.kind ?? 'other';

/** Files and, one level deep, directories below a media directory. Entries and hidden files are not media. */
async function itemsBelow(snapshot: Snapshot, site: SiteIndex, root: string, recursive: boolean): Promise<Item[]> {
  const files = await snapshot.files(root);
  const prefix = root === '' ? '' : `${root}/`;
  const items = new Map<string, Item>();
  const add = (item: Item) => items.set(item.path, item);
  const pace = new Pace();
  for (const file of files) {
    if (pace.isDue) await pace.yield();
    if (!isMedia(site, { ...file, path: prefix + file.path })) continue;
    const slash = file.path.indexOf('/');
    if (recursive || slash < 0) {
      add({ path: prefix + file.path, name: nameOf(file.path), type: 'file', oid: file.oid });
    } else {
      const directory = prefix + file.path.slice(0, slash);
      if (!items.has(directory)) {
        const oid = (await snapshot.treeOid(directory)) ?? '';
        add({ path: directory, name: nameOf(directory), type: 'dir', oid });
      }
    }
  }
  return [...items.values()];
}

/** Whether a file below a media root is media. */
export function isMedia(site: SiteIndex, { path, mode }: Pick<TreeFile, 'path' | 'mode'>): boolean {
  if (mode !== '100644' && mode !== '100755') return false;
  if (path.split('/').some((segment) => segment.startsWith('.'))) return false;
  // Beside entries lie components and settings too.
  if (mediaRootOf(site, path)?.public_path === null && mediaTypeOf(path) === null) return false;
  return !site.discovery.schemas.some((schema) => schema.matches(path));
}

/** The media roots but for those inside another one, whose files are listed with it. */
const outerRoots = ({ discovery: { mediaRoots } }: SiteIndex): string[] =>
  mediaRoots
    .map((root) => root.path)
    .filter((root) => !mediaRoots.some(({ path: outer }) => outer !== root && below(outer, root) !== null));

const orders: Record<string, (a: Item, b: Item) => number> = {
  path: (a, b) => (a.path < b.path ? -1 : 1),
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
};

export const listMedia = studioOperation({
  name: 'studio.listMedia',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List files',
  input: z.object({
    ...refInput,
    ...pageInput,
    path: z.string().optional().describe('Directory inside a media root; default: all media roots'),
    recursive: z.boolean().optional().describe('Files of all levels instead of one level with its directories'),
    type: mediaKind.optional(),
    q: z.string().max(200).optional().describe('Part of the path'),
    sort: z.enum(['path', '-path', 'name', '-name']).default('path'),
  }),
  output: pageOf(media),
  async execute(context, { path, recursive, type, q, sort, ...input }) {
    const { git, studio, tag } = context;
    const window = windowOf(input);
    const snapshot = await snapshotOf(git, input);
    const site = await studio.content.site(git, snapshot);
    const routes = await entryRoutes(context, snapshot);
    if (snapshot.tree) tag(`"${snapshot.tree}.${viewOf([path, recursive, type, q, sort, input, routes.key])}"`);
    const directory = path === undefined || path === '' ? null : checkAddress('path', path.replace(/\/$/, ''));
    if (directory !== null && (mediaRootOf(site, directory) === null || (await snapshot.treeOid(directory)) === null)) {
      checkStoredPath('path', directory);
      throw new DomainError('not_found', `path: ${directory} is not a directory of media`);
    }
    const roots = directory === null ? outerRoots(site) : [directory];
    const wanted = q === undefined ? null : foldText(q);
    const all = (await Promise.all(roots.map((root) => itemsBelow(snapshot, site, root, recursive === true)))).flat();
    const chosen = await filterYielding(
      all,
      (item) =>
        (wanted === null || foldText(item.path).includes(wanted)) &&
        (type === undefined || (item.type === 'file' && kindOf(item.path) === type)),
    );
    const order = orders[sort.replace('-', '')] ?? (() => 0);
    const direction = sort.startsWith('-') ? -1 : 1;
    const sorted = await sortYielding(chosen, (a, b) =>
      a.type === b.type ? direction * order(a, b) : a.type === 'dir' ? -1 : 1,
    );
    const items = sorted.slice(window.offset, window.offset + window.limit);
    const facts = await mediaFacts(
      git,
      snapshot,
      items.filter((item) => item.type === 'file'),
    );
    return pageFrom(
      items.map(({ path: at, name, type: kind, oid }) =>
        kind === 'dir' ? { path: at, name, type: kind, sha: oid } : mediaRecord(site, { path: at, oid }, facts, routes),
      ),
      sorted.length,
      window,
    );
  },
});

export const listEntryMedia = studioOperation({
  name: 'studio.listEntryMedia',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Files that entries of a collection show or link to, for each in the order of the input',
  input: z.object(entriesInput),
  output: z.array(z.array(media)),
  async execute(context, { collection, slugs, ...at }) {
    const { git, studio } = context;
    const snapshot = await snapshotOf(git, at);
    const site = await studio.content.site(git, snapshot);
    const routes = await entryRoutes(context, snapshot);
    const index = site.collection(collection);
    const entries = slugs.map((slug) => entryIn(index, slug));
    const { oids: oidsOf } = await siteFilesOf(snapshot);
    const oids = await oidsOf();
    const published = { discovery: site.discovery, base: encodePath(routes.base) };
    const found: string[][] = [];
    const pace = new Pace();
    for await (const { content } of snapshot.blobs(entries.map((entry) => entry.oid))) {
      if (pace.isDue) await pace.yield();
      const entry = entries[found.length]?.path ?? '';
      found.push(mentionedMedia(published, entry, content.toString('utf8'), (file) => oids.has(file)));
    }
    const files = (paths: string[]) => paths.map((path) => ({ path, oid: oids.get(path) ?? '' }));
    const facts = await mediaFacts(git, snapshot, files([...new Set(found.flat())]));
    return found.map((paths) => files(paths).map((file) => mediaRecord(site, file, facts, routes)));
  },
});

const deletedMedia = z.object({ deleted: z.literal(true), path: z.string(), commit }).meta({ id: 'DeletedMedia' });

export const deleteMedia = studioOperation({
  name: 'studio.deleteMedia',
  kind: 'command',
  effect: 'external',
  permission: 'delete_studio',
  also: {
    manage_studio: 'when it names another author, or a file that is outside the media roots or code by its name',
  },
  irreversible: true,
  comparesTag: true,
  mayRequireTag: true,
  summary: 'Delete file',
  input: z.object({
    media: z.string().describe('Path of the file in the repository'),
    sha: z.string().optional().describe('Object id the file must have'),
    force: z.boolean().optional().describe('Delete although entries name it'),
    ...writeInput,
  }),
  output: deletedMedia,
  audit: ({ media }) => ({ type: 'media', id: media }),
  async execute(context, { media: path, ...input }) {
    const author = authorOf(context, input.author);
    const branch = await directBranch(context, input.branch);
    const { commit } = await commitStep(context, { branch, author, message: input.message }, (staged) =>
      planDeleteMedia(context, staged, { ...input, path }),
    );
    if (!commit) throw new DomainError('not_found', `path: ${path} is not a file`);
    return { deleted: true as const, path, commit };
  },
});
