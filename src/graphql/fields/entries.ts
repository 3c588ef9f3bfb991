/** Content: collections with their schemas, entries and what they lead to, media, and the addresses of entries. */
import { z } from 'zod';
import {
  getCollection,
  getSchema,
  listCollections,
  listContentRoots,
  listSchemas,
  listSnippets,
  locateCollection,
  refreshSchemas,
} from '../../domain/studio/content/schemas.operations.ts';
import { getDeployment } from '../../domain/studio/deployments/deployments.operations.ts';
import {
  createEntry,
  deleteEntry,
  updateEntry,
  validateEntry,
} from '../../domain/studio/entries/change-entries.operations.ts';
import { getEntry, listEntries, searchEntries } from '../../domain/studio/entries/entries.operations.ts';
import { entryTemplate } from '../../domain/studio/entries/entry-template.operations.ts';
import {
  listReferences,
  listReferrers,
  listReferrersOfEntries,
  listTranslations,
} from '../../domain/studio/entries/references.operations.ts';
import { listDeletedMedia } from '../../domain/studio/media/deleted-media.operations.ts';
import { deleteMedia, listEntryMedia, listMedia } from '../../domain/studio/media/media.operations.ts';
import { uploadMedia } from '../../domain/studio/media/upload-media.operations.ts';
import { getEnvironmentPreview } from '../../domain/studio/previews/preview-link.operations.ts';
import { listCommits } from '../../domain/studio/repository/commits.operations.ts';
import {
  detectRoutePatterns,
  findEntryByUrl,
  listRoutePatterns,
} from '../../domain/studio/routes/route-patterns.operations.ts';
import { outputCheck } from '../../domain/studio/routes/routes.schema.ts';
import { deleteView, listViews, saveView } from '../../domain/studio/views/views.operations.ts';
import type { GraphqlContext } from '../context.ts';
import { type Place, placed, placeOf } from '../place.ts';
import type { Selects } from '../selected-fields.ts';
import { batch, conflictsIn, edge, field, link, mutation, node, object, part, type Row } from '../table.ts';

interface Slugged {
  slug: string;
}

/** Which state of the content is read: that of a branch or of one commit; the default branch without either. */
const state = {
  branch: (_record: unknown, { branch }: Place) => branch,
  ref: (_record: unknown, { ref }: Place) => ref,
};
const entryKeys = {
  ...state,
  collection: ({ collection }: { collection?: string }, above: Place) => collection ?? above.collection,
  entry: 'slug',
} as const;

const all = ['Entry', 'EntrySummary'];
const slugOf = ({ slug }: Slugged) => slug;
const nothing = () => undefined;

/** Parts of the entries of a list that are read only when they are selected. */
const include = (_collection: unknown, selects: Selects) => [
  ...(selects('body') ? ['body'] : []),
  ...(selects('updated_at', 'updated_by') ? ['updated'] : []),
];

/** The entries of a list, which take room for their frontmatter only where it is selected. */
const listOf = (input: Place, context: GraphqlContext, selects: Selects) =>
  context.list(listEntries, selects('frontmatter') ? input : { ...input, fields: [] });

async function entryAt(input: Place, context: GraphqlContext) {
  const found = await context.run(findEntryByUrl, input);
  if (found === null) return null;
  const { url: _, ...at } = input;
  const { collection, slug } = found;
  return placed(await context.run(getEntry, { ...at, collection, entry: slug }), { ...at, collection, entry: slug });
}

async function refusedUpdate(error: unknown, input: Place, context: GraphqlContext) {
  const conflicts = conflictsIn(error);
  const { organization, project, collection, entry, branch } = input;
  const stored = await context.run(getEntry, { organization, project, collection, entry, branch });
  return { ...stored, commit: null, unchanged: true, merged: false, conflicts };
}

export const entries: readonly Row[] = [
  node('Schema', getSchema, { ...state, collection: 'collection' }),
  field('Studio', 'content_roots', listContentRoots),
  field('Studio', 'schemas', listSchemas),
  object('RefreshedSchemas', refreshSchemas, { branch: state.branch }),
  mutation('refreshSchemas', refreshSchemas),

  node('Collection', getCollection, { ...state, collection: 'name' }),
  field('Studio', 'collections', listCollections),
  field('Studio', 'collection', getCollection, { names: { collection: 'name' }, locate: locateCollection }),
  field('Collection', 'schema', getSchema),
  field('Collection', 'entries', listEntries, { given: { include }, resolve: listOf }),
  field('Collection', 'template', entryTemplate),
  field('Collection', 'snippets', listSnippets, { cost: 20 }),

  node('Entry', getEntry, entryKeys),
  object('EntrySummary', listEntries, entryKeys),
  object('SavedEntry', createEntry, entryKeys),
  field('Studio', 'entry', getEntry, {
    names: { entry: 'slug' },
    given: {
      raw: (_studio, selects) => selects('raw'),
      include: (_studio, selects) => (['faults', 'own_files'] as const).filter((one) => selects(one)),
    },
  }),
  field('Studio', 'entry_at', findEntryByUrl, { type: 'Entry', resolve: entryAt }),
  field('Studio', 'search', searchEntries, { cost: 20 }),
  field('Studio', 'referrers', listReferrersOfEntries, { cost: 20 }),
  field('Studio', 'validate', validateEntry),
  edge('SavedEntry', 'record', 'Entry', {
    description: 'The entry as it is now, with what it leads to',
    always: true,
    resolve: (saved) => saved,
  }),
  field(all, 'collection', getCollection, { description: 'The collection it is in' }),
  field(all, 'schema', getSchema, { description: 'The schema of its collection' }),
  batch(
    all,
    'references',
    listReferences,
    { slugs: slugOf },
    { description: 'Entries it names in its relations, the first 500' },
  ),
  batch(
    all,
    'translations',
    listTranslations,
    { slugs: slugOf },
    {
      description: 'The same entry in other languages',
      given: { frontmatter: (selects) => selects('frontmatter') },
    },
  ),
  batch(all, 'media', listEntryMedia, { slugs: slugOf }, { description: 'Files it shows or links to' }),
  // These need a read per entry, and so exist only on an entry that is read alone.
  field('Entry', 'history', listCommits, {
    description: 'Commits that touched it, newest first',
    given: { slug: slugOf, path: nothing },
  }),
  field('Entry', 'referenced_by', listReferrers, { cost: 10 }),
  edge('Entry', 'preview', getEnvironmentPreview.output, {
    description: 'Opens its page on an environment; null when nothing is published there, or its address is not known',
    cost: 5,
    args: { environment: z.int32() },
    resolve(entry: { url?: string }, { environment }, context) {
      const { organization, project } = placeOf(entry);
      // The path of its page, where routes are saved for the project.
      const path = entry.url;
      if (path === undefined) return null;
      return context.run(getEnvironmentPreview, { organization, project, environment, path });
    },
  }),
  mutation('createEntry', createEntry),
  mutation('updateEntry', updateEntry, { refused: refusedUpdate }),
  mutation('deleteEntry', deleteEntry),

  field('Studio', 'media', listMedia),
  field('Studio', 'deleted_media', listDeletedMedia, { cost: 20 }),
  mutation('uploadMedia', uploadMedia),
  mutation('deleteMedia', deleteMedia),

  field('Studio', 'views', listViews),
  mutation('saveView', saveView),
  mutation('deleteView', deleteView),

  field('Studio', 'route_patterns', listRoutePatterns),
  object('DetectedRoutes', detectRoutePatterns, {}),
  part('OutputCheck', outputCheck, {}),
  link('OutputCheck', 'deployment', getDeployment, { deployment: 'deployment_id' }, 'The deployment that made it'),
  mutation('detectRoutePatterns', detectRoutePatterns),
];
