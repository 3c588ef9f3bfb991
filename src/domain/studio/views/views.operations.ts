/** Saved views of the content table: one's own, and the project's shared ones. */
import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { findPage, pageInput, pageOf } from '../../../kernel/paging.ts';
import { freeObject, oneLine, storedObject, timestamp } from '../../../kernel/shapes.ts';
import { projectOperation } from '../../projects/operation.ts';
import { holdProject } from '../../projects/project-ref.ts';
import { SavedView } from './saved-view.entity.ts';

/** Of one person in one project. */
const mostViews = 100;
const longestQuery = 4096;

const savedView = z
  .object({
    id: z.int32(),
    name: z.string(),
    collection: z.string(),
    query: freeObject.describe('As it was saved; its fields may be gone'),
    shared: z.boolean(),
    owner_name: z.string(),
    own: z.boolean().describe('The caller saved it'),
    updated_at: timestamp,
  })
  .meta({ id: 'SavedView' });

const recordFor =
  (owner: string) =>
  ({ owner_id, ...row }: SavedView): z.output<typeof savedView> => ({ ...row, own: owner_id === owner });

const collection = oneLine(200).describe('Name of the collection');

export const listViews = projectOperation({
  name: 'studio.listViews',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: "List saved views by name: the caller's own, and shared ones",
  input: z.object({ ...pageInput, collection: collection.optional() }),
  output: pageOf(savedView),
  async execute({ em, project, actor }, { collection, ...paging }) {
    const { rows, asPage } = await findPage(
      em,
      paging,
      SavedView,
      {
        project_id: project.id,
        $or: [{ owner_id: actor.id }, { shared: true }],
        ...(collection !== undefined && { collection }),
      },
      { orderBy: { name: 'asc', id: 'asc' } },
    );
    return asPage(rows.map(recordFor(actor.id)));
  },
});

export const saveView = projectOperation({
  name: 'studio.saveView',
  kind: 'command',
  permission: 'browse_studio',
  also: { manage_studio: 'when it is shared, or was' },
  notInSteps: true,
  summary: "Save a view of a collection's entries, in the place of the caller's own of the same name",
  input: z.object({
    name: oneLine(80),
    collection,
    query: storedObject.describe(
      'Search, filters, order and columns, as the client that shows it reads them; up to 4 KiB',
    ),
    shared: z.boolean().default(false).describe('Everybody in the project sees it'),
  }),
  output: savedView,
  audit: ({ name, collection }) => ({ type: 'view', id: `${collection}/${name}` }),
  async execute(context, { name, collection, query, shared }) {
    const { em, project, actor, services } = context;
    if (Buffer.byteLength(JSON.stringify(query)) > longestQuery)
      throw fieldError('invalid_request', 'query', `must be at most ${longestQuery} bytes`);
    // Two that are saved at once are counted one after the other.
    await holdProject(em, project.id);
    const owned = { project_id: project.id, owner_id: actor.id };
    const known = await em.findOne(SavedView, { ...owned, collection, name });
    if (shared || known?.shared) context.require('manage_studio');
    if (!known && (await em.count(SavedView, owned)) >= mostViews)
      throw new DomainError('limit_reached', `A person can save ${mostViews} views in a project; delete one first`);
    const row = await em.upsert(
      SavedView,
      {
        ...{ ...owned, collection, name, owner_name: actor.author.name, shared },
        query: query as Record<string, unknown>,
        updated_at: services.clock.now(),
      },
      { onConflictFields: ['project_id', 'owner_id', 'collection', 'name'] },
    );
    return recordFor(actor.id)(row);
  },
});

export const deleteView = projectOperation({
  name: 'studio.deleteView',
  kind: 'command',
  permission: 'browse_studio',
  also: { manage_studio: 'when it is shared' },
  irreversible: true,
  notInSteps: true,
  summary: "Delete one of the caller's own views, or a shared one",
  input: z.object({ view_id: z.int32().min(1) }),
  output: savedView,
  audit: ({ view_id }) => ({ type: 'view', id: String(view_id) }),
  async execute(context, { view_id: id }) {
    const { em, project, actor } = context;
    const row = await em.findOne(SavedView, {
      id,
      project_id: project.id,
      $or: [{ owner_id: actor.id }, { shared: true }],
    });
    if (!row) throw new DomainError('not_found', `View ${id} not found`);
    if (row.shared) context.require('manage_studio');
    await em.nativeDelete(SavedView, { id });
    return recordFor(actor.id)(row);
  },
});
