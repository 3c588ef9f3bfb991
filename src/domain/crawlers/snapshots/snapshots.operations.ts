import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { findPage, pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { changeOf } from '../../../kernel/shapes.ts';
import { holding } from '../../../lib/text.ts';
import { notify } from '../../notifications/notify.ts';
import { crawlerName, plainText } from '../config/crawler.schema.ts';
import { findCrawler, locateCrawler, namedCrawler } from '../config/find-crawler.ts';
import { crawlerOperation } from '../crawlers.ts';
import { pageKind } from '../runs/runs.schema.ts';
import { makeLive } from './seal-snapshot.ts';
import { CrawlSnapshot } from './snapshot.entity.ts';
import {
  findSnapshot,
  namedSnapshot,
  notDiscarded,
  openSnapshot,
  requireCaptured,
  requireFiles,
  snapshotRecords,
} from './snapshot-record.ts';
import { snapshot, snapshotEntry, snapshotNumber } from './snapshots.schema.ts';

export const listSnapshots = crawlerOperation({
  name: 'crawlers.listSnapshots',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List snapshots of a crawler, the newest first',
  input: z.object({ ...crawlerName, ...pageInput }),
  output: pageOf(snapshot),
  find: namedCrawler,
  async execute(context, { crawler: name, ...paging }) {
    const crawler = await locateCrawler(context, name);
    const { rows, asPage } = await findPage(
      context.em,
      paging,
      CrawlSnapshot,
      { crawler_id: crawler.id, ...notDiscarded },
      { orderBy: { id: 'desc' } },
    );
    return asPage(await snapshotRecords(context.em, rows, [crawler]));
  },
});

export const getSnapshot = crawlerOperation({
  name: 'crawlers.getSnapshot',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one snapshot, with addresses that open it for a minute',
  input: z.object(snapshotNumber),
  output: snapshot,
  find: namedSnapshot,
  async execute(context, input) {
    const crawler = await locateCrawler(context, input.crawler);
    return openSnapshot(context, await findSnapshot(context.em, crawler.id, input.snapshot), crawler);
  },
});

const filtered = `
  from snapshot_entry where snapshot_id = ? and (?::text is null or kind = ?) and url ilike ?`;

type Row = Omit<z.output<typeof snapshotEntry>, 'bytes' | 'fetched_at'> & { bytes: string; fetched_at: string | Date };

export const listSnapshotEntries = crawlerOperation({
  name: 'crawlers.listSnapshotEntries',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the URLs of a snapshot, by URL',
  input: z.object({
    ...snapshotNumber,
    kind: pageKind.optional(),
    q: plainText('must be text')
      .max(2048, 'must be at most 2048 characters')
      .optional()
      .describe('Part of the URL, in letters of either case'),
    ...pageInput,
  }),
  output: pageOf(snapshotEntry),
  find: namedSnapshot,
  async execute({ em, project }, { crawler: name, snapshot: id, kind = null, q = '', ...paging }) {
    const crawler = await locateCrawler({ em, project }, name);
    const { id: snapshot_id } = await findSnapshot(em, crawler.id, id);
    const window = windowOf(paging);
    const filter = [snapshot_id, kind, kind, holding(q)];
    const [{ count }] = (await em.execute(`select count(*) ${filtered}`, filter)) as [{ count: string }];
    const rows = await em.execute<Row[]>(
      `select url, kind, http_status, content_type, charset, headers, sha256, bytes, redirect_to, etag, last_modified,
         first_seen_run, fetched_at ${filtered} order by url collate "C" limit ? offset ?`,
      [...filter, window.limit, window.offset],
    );
    const items = rows.map((row) => ({ ...row, bytes: Number(row.bytes), fetched_at: new Date(row.fetched_at) }));
    return pageFrom(items, Number(count), window);
  },
});

const note = plainText('must be a string')
  .trim()
  .max(2000, 'must be at most 2000 characters')
  .transform((text) => (text === '' ? null : text))
  .nullable();

export const updateSnapshot = crawlerOperation({
  name: 'crawlers.updateSnapshot',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Pin a snapshot, so that it is kept whatever its age, or change its note',
  input: changeOf({
    ...snapshotNumber,
    pinned: z.boolean('must be a boolean').optional(),
    note: note.optional(),
  }),
  output: snapshot,
  audit: ({ snapshot: id }) => ({ type: 'snapshot', id: String(id) }),
  find: namedSnapshot,
  async execute(context, input) {
    const crawler = await findCrawler(context, input.crawler, { lock: true });
    const row = await findSnapshot(context.em, crawler.id, input.snapshot, { lock: true });
    if (input.pinned) requireFiles(row);
    if (input.pinned !== undefined) row.pinned = input.pinned;
    if (input.note !== undefined) row.note = input.note;
    await context.em.flush();
    return openSnapshot(context, row, crawler);
  },
});

export const deleteSnapshot = crawlerOperation({
  name: 'crawlers.deleteSnapshot',
  kind: 'command',
  permission: 'delete_crawlers',
  irreversible: true,
  summary: 'Delete a snapshot that is neither live nor pinned',
  input: z.object(snapshotNumber),
  output: snapshot,
  audit: ({ snapshot: id }) => ({ type: 'snapshot', id: String(id) }),
  find: namedSnapshot,
  async execute(context, input) {
    const crawler = await findCrawler(context, input.crawler, { lock: true });
    const row = await findSnapshot(context.em, crawler.id, input.snapshot, { lock: true });
    requireCaptured(row);
    if (crawler.published_snapshot_id === row.id)
      throw new DomainError('in_use', `Snapshot ${row.id} is the live copy; publish another one first`);
    if (row.pinned) throw new DomainError('protected', `Snapshot ${row.id} is pinned; unpin it first`);
    const deleted = await openSnapshot(context, row, crawler);
    // Its entries may be very many: they are deleted in the background; the snapshot is hidden at once.
    row.state = 'expired';
    row.sealed_at = null;
    await context.em.flush();
    return deleted;
  },
});

/** @throws DomainError `busy`, `not_found`, or `protected` for one that is held back and not forced */
function checkPublishable(snapshot: CrawlSnapshot, force: boolean): void {
  const { id, checks } = snapshot;
  requireCaptured(snapshot);
  requireFiles(snapshot);
  const failed = checks?.filter(({ passed }) => !passed) ?? [];
  if (failed.length === 0 || force) return;
  const why = failed.map(({ detail }) => detail).join('; ');
  throw new DomainError('protected', `Snapshot ${id} is held back (${why}); publish it with force`);
}

export const publishSnapshot = crawlerOperation({
  name: 'crawlers.publishSnapshot',
  kind: 'command',
  permission: 'edit_crawlers',
  also: { manage_crawlers: 'when it is forced against a check' },
  summary: 'Make a snapshot the live copy of its crawler, also to go back to an older one',
  input: z.object({
    ...snapshotNumber,
    force: z.boolean('must be a boolean').default(false).describe('Publish although a check fails'),
  }),
  output: snapshot,
  audit: ({ snapshot: id }) => ({ type: 'snapshot', id: String(id) }),
  find: namedSnapshot,
  async execute(context, input) {
    const { em, services } = context;
    if (input.force) context.require('manage_crawlers');
    const crawler = await findCrawler(context, input.crawler, { lock: true });
    const row = await findSnapshot(em, crawler.id, input.snapshot, { lock: true });
    checkPublishable(row, input.force);
    if (crawler.published_snapshot_id === row.id) return openSnapshot(context, row, crawler);
    await makeLive(em, crawler.id, row.id, services.clock.now());
    await em.refresh(crawler);
    await em.refresh(row);
    const { id, state, checks } = row;
    const payload = { snapshot: { id, state, published: true, checks: checks ?? [] } };
    await notify(em, services, crawler, 'crawler.snapshot.published', payload);
    return openSnapshot(context, row, crawler);
  },
});
