import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { pageFrom, pageOf, wholePageInput, wholeWindowOf } from '../../../kernel/paging.ts';
import { mapYielding } from '../../../lib/concurrency.ts';
import { collection as collectionShape } from '../entries/entries.schema.ts';
import { invalidEntries } from '../entries/validate.ts';
import { branchInput, refInput, snapshotOf } from '../repository/refs.ts';
import { toRecord } from '../schema/json-schema.ts';
import { studioSchema, studioWarning, type Warning } from '../schema/schema.schema.ts';
import { contentRootsOf } from '../schema/site-layout.ts';
import { localStudioOperation, studioOperation } from '../studio-operation.ts';
import { passingTag, viewOf } from '../view.ts';
import type { CollectionIndex } from './collection-index.ts';
import { snippet } from './search.ts';
import { siteFilesOf } from './site-files.ts';
import type { SiteIndex } from './site-index.ts';

/** Schemas name no file content: they are the same while their key is. */
const schemasTag = (site: SiteIndex, commit: string | null, what: unknown) =>
  `"${commit ?? '0'}.${viewOf([site.schemaKey, what])}"`;

export const listSchemas = studioOperation({
  name: 'studio.listSchemas',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List all schemas',
  input: z.object({ ...refInput, ...wholePageInput }),
  output: pageOf(studioSchema),
  async execute({ git, studio, tag }, input) {
    const window = wholeWindowOf(input);
    const snapshot = await snapshotOf(git, input);
    const site = await studio.content.site(git, snapshot);
    tag(schemasTag(site, snapshot.tree, window));
    const { schemas } = site.discovery;
    return pageFrom(schemas.slice(window.offset, window.offset + window.limit).map(toRecord), schemas.length, window);
  },
});

export const getSchema = studioOperation({
  name: 'studio.getSchema',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Get one collection schema',
  input: z.object({ collection: z.string(), ...refInput }),
  output: studioSchema,
  async execute({ git, studio, tag }, { collection, ...at }) {
    const snapshot = await snapshotOf(git, at);
    const site = await studio.content.site(git, snapshot);
    const { schema } = site.collection(collection);
    tag(schemasTag(site, snapshot.tree, collection));
    return toRecord(schema);
  },
});

const refreshed = z
  .object({
    refreshed: z.literal(true),
    commit: z.string().nullable(),
    schemas: z.array(studioSchema),
    added: z.array(z.string()),
    changed: z.array(z.string()),
    removed: z.array(z.string()),
    warnings: z.array(studioWarning),
  })
  .meta({ id: 'RefreshedSchemas' });

/**
 * An explicit refresh of an unreadable configuration is an error; other reads go on with what is known without it.
 * @throws DomainError `validation_failed` naming the files
 */
function checkReadable(warnings: readonly Warning[]): void {
  const unreadable = warnings.filter(({ code }) => code === 'config_unreadable');
  const errors = unreadable.map(({ code, message, path, line }) => {
    const place = [path, line].filter((part) => part !== undefined).join(':');
    return { field: '', code, message: `${place}: ${message}`, ...(line !== undefined && { line }) };
  });
  const [first] = errors;
  if (first)
    throw new DomainError('validation_failed', `The configuration cannot be read: ${first.message}`, {
      details: { errors },
    });
}

export const refreshSchemas = localStudioOperation({
  name: 'studio.refreshSchemas',
  kind: 'command',
  effect: 'external',
  permission: 'manage_studio',
  summary: 'Refresh cached schemas',
  input: z.object({ ...branchInput }),
  output: refreshed,
  audit: ({ branch }) => ({ type: 'schema', id: branch ?? null }),
  async execute({ git, studio, project, signal }, input) {
    if (project.is_mirror) await studio.upstreams.fetch(project, signal);
    const snapshot = await snapshotOf(git, input);
    const before = await studio.content.site(git, snapshot);
    const after = await studio.content.refresh(git, snapshot);
    checkReadable(after.discovery.warnings);
    const records = (site: SiteIndex) =>
      new Map(site.discovery.schemas.map((schema) => [schema.collection, toRecord(schema)]));
    const [old, now] = [records(before), records(after)];
    return {
      refreshed: true as const,
      commit: snapshot.commit,
      schemas: [...now.values()],
      added: [...now.keys()].filter((name) => !old.has(name)),
      changed: [...now]
        .filter(([name, schema]) => old.has(name) && viewOf(old.get(name)) !== viewOf(schema))
        .map(([name]) => name),
      removed: [...old.keys()].filter((name) => !now.has(name)),
      warnings: after.discovery.warnings,
    };
  },
});

const mostRoots = 100;

const contentRoot = z
  .object({
    path: z.string().describe("Directory in the repository, '' for its root; what `content_root` can be set to"),
    framework: z.string().nullable(),
    files: z.int32().describe('Markdown files of its own'),
    is_used: z.boolean().describe('It is the content root, set or found'),
  })
  .meta({ id: 'ContentRoot' });

export const listContentRoots = studioOperation({
  name: 'studio.listContentRoots',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List the directories of the repository that are sites of their own',
  input: z.object({ ...refInput, ...wholePageInput }),
  output: pageOf(contentRoot),
  async execute({ git, studio, tag }, input) {
    const window = wholeWindowOf(input);
    const snapshot = await snapshotOf(git, input);
    const { discovery } = await studio.content.site(git, snapshot);
    tag(`"${snapshot.tree ?? '0'}.${viewOf([discovery.contentRoot, window])}"`);
    const { paths } = await siteFilesOf(snapshot);
    const roots = (await contentRootsOf(await mapYielding(paths, ({ path }) => path))).slice(0, mostRoots);
    const items = roots.map((root) => ({ ...root, is_used: root.path === discovery.contentRoot }));
    return pageFrom(items.slice(window.offset, window.offset + window.limit), items.length, window);
  },
});

export const listCollections = studioOperation({
  name: 'studio.listCollections',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List collections with their schemas',
  input: z.object({ ...refInput, ...wholePageInput }),
  output: pageOf(collectionShape),
  async execute({ git, studio, tag }, input) {
    const window = wholeWindowOf(input);
    const snapshot = await snapshotOf(git, input);
    const site = await studio.content.site(git, snapshot);
    tag(schemasTag(site, snapshot.tree, window));
    const all = [...site.collections.values()];
    const damage = studio.content.damage(git);
    const items = [];
    for (const index of all.slice(window.offset, window.offset + window.limit)) {
      items.push(collectionRecord(index, (await invalidEntries({ studio, git }, { snapshot, site }, index)).length));
    }
    if (studio.content.damage(git) !== damage) tag(passingTag());
    return pageFrom(items, all.length, window);
  },
});

export const locateCollection = studioOperation({
  name: 'studio.locateCollection',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'A collection and what lies below it',
  input: z.object({ collection: z.string(), ...refInput }),
  output: z.object({ name: z.string() }),
  async execute({ git, studio }, { collection, ...at }) {
    const site = await studio.content.site(git, await snapshotOf(git, at));
    return { name: site.collection(collection).schema.collection };
  },
});

const collectionRecord = ({ schema, size }: CollectionIndex, invalid_count: number) => ({
  name: schema.collection,
  label: schema.label,
  kind: schema.kind,
  path: schema.path,
  format: schema.format,
  entries_count: size,
  invalid_count,
  schema: toRecord(schema),
});

export const getCollection = studioOperation({
  name: 'studio.getCollection',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Get one collection with its schema',
  input: z.object({ collection: z.string(), ...refInput }),
  output: collectionShape,
  async execute({ git, studio, tag }, { collection, ...at }) {
    const snapshot = await snapshotOf(git, at);
    const site = await studio.content.site(git, snapshot);
    const index = site.collection(collection);
    tag(schemasTag(site, snapshot.tree, ['collection', collection]));
    const damage = studio.content.damage(git);
    const record = collectionRecord(index, (await invalidEntries({ studio, git }, { snapshot, site }, index)).length);
    if (studio.content.damage(git) !== damage) tag(passingTag());
    return record;
  },
});

export const listSnippets = studioOperation({
  name: 'studio.listSnippets',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Shortcodes and components that the texts of a collection use',
  input: z.object({ collection: z.string(), ...refInput }),
  output: z
    .object({ items: z.array(snippet).describe('The most used first, at most 100') })
    .meta({ id: 'SnippetList' }),
  async execute({ git, studio }, { collection, ...at }) {
    const head = await snapshotOf(git, at);
    const site = await studio.content.site(git, head);
    return { items: await studio.snippets.of(git, head, site, collection) };
  },
});
