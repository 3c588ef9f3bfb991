import { z } from 'zod';
import { DomainError } from '../../../errors.ts';
import { projectOperation } from '../../../operation.ts';
import { changeOf } from '../../../shapes.ts';
import { findCrawler } from '../../config/find-crawler.ts';
import { plainText } from '../../config/text-fields.ts';
import { findSnapshot, requireCaptured, requireFiles } from '../find-snapshot.ts';
import { openSnapshot } from '../snapshot-record.ts';
import { snapshot, snapshotNumber } from '../snapshots.schema.ts';

const note = plainText('must be a string')
  .trim()
  .max(2000, 'must be at most 2000 characters')
  .transform((text) => (text === '' ? null : text))
  .nullable();

export const updateSnapshot = projectOperation({
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

export const deleteSnapshot = projectOperation({
  name: 'crawlers.deleteSnapshot',
  kind: 'command',
  permission: 'delete_crawlers',
  destructive: true,
  summary: 'Delete a snapshot that is neither live nor pinned',
  input: z.object(snapshotNumber),
  output: z.object({}),
  audit: ({ snapshot: id }) => ({ type: 'snapshot', id: String(id) }),
  async execute(context, input) {
    const crawler = await findCrawler(context, input.crawler, { lock: true });
    const row = await findSnapshot(context.em, crawler.id, input.snapshot, { lock: true });
    requireCaptured(row);
    if (crawler.published_snapshot_id === row.id)
      throw new DomainError('in_use', `Snapshot ${row.id} is the live copy; publish another one first`);
    if (row.pinned) throw new DomainError('protected', `Snapshot ${row.id} is pinned; unpin it first`);
    // Its entries may be very many: they go in the background, and nobody sees it any more.
    row.state = 'expired';
    row.sealed_at = null;
    await context.em.flush();
    return {};
  },
});
