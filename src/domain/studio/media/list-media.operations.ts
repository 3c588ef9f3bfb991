import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { pageFrom, pageInput, pageOf, windowOf } from '../../paging.ts';
import type { Snapshot, TreeFile } from '../../ports/git-records.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { foldText } from '../frontmatter/words.ts';
import { checkAddress, checkStoredPath } from '../path-rules.ts';
import { refInput, snapshotOf } from '../repository/refs.ts';
import { entryRoutes } from '../routes/entry-routes.ts';
import { viewOf } from '../view.ts';
import { media, mediaKind } from './media.schema.ts';
import { mediaFacts } from './media-facts.ts';
import { mediaRecord } from './media-record.ts';
import { mediaRootOf } from './media-roots.ts';
import { type MediaKind, mediaTypeOf } from './media-types.ts';

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
  for (const file of files) {
    if (!isMedia(site, file, prefix)) continue;
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

function isMedia(site: SiteIndex, { path, mode }: TreeFile, prefix: string): boolean {
  if (mode !== '100644' && mode !== '100755') return false;
  if (path.split('/').some((segment) => segment.startsWith('.'))) return false;
  return !site.discovery.schemas.some((schema) => schema.matches(prefix + path));
}

const orders: Record<string, (a: Item, b: Item) => number> = {
  path: (a, b) => (a.path < b.path ? -1 : 1),
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
};

export const listMedia = projectOperation({
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
    const { git, services, tag } = context;
    const window = windowOf(input);
    const snapshot = await snapshotOf(git, input);
    const site = await services.content.site(git, snapshot);
    const routes = await entryRoutes(context, snapshot);
    if (snapshot.tree) tag(`"${snapshot.tree}.${viewOf([path, recursive, type, q, sort, input, routes.key])}"`);
    const directory = path === undefined || path === '' ? null : checkAddress('path', path.replace(/\/$/, ''));
    if (directory !== null && (mediaRootOf(site, directory) === null || (await snapshot.treeOid(directory)) === null)) {
      checkStoredPath('path', directory);
      throw new DomainError('not_found', `path: ${directory} is not a directory of media`);
    }
    const roots = directory === null ? site.discovery.mediaRoots.map((root) => root.path) : [directory];
    const wanted = q === undefined ? null : foldText(q);
    const all = (await Promise.all(roots.map((root) => itemsBelow(snapshot, site, root, recursive === true))))
      .flat()
      .filter((item) => wanted === null || foldText(item.path).includes(wanted))
      .filter((item) => type === undefined || (item.type === 'file' && kindOf(item.path) === type));
    const order = orders[sort.replace('-', '')] ?? (() => 0);
    const direction = sort.startsWith('-') ? -1 : 1;
    all.sort((a, b) => (a.type === b.type ? direction * order(a, b) : a.type === 'dir' ? -1 : 1));
    const items = all.slice(window.offset, window.offset + window.limit);
    const facts = await mediaFacts(
      git,
      snapshot,
      items.filter((item) => item.type === 'file'),
    );
    return pageFrom(
      items.map(({ path: at, name, type: kind, oid }) =>
        kind === 'dir'
          ? { path: at, name, type: kind, sha: oid }
          : mediaRecord(site, { path: at, oid }, facts, routes.base),
      ),
      all.length,
      window,
    );
  },
});
