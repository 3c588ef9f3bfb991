import { z } from 'zod';
import { projectOperation } from '../../../operation.ts';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../paging.ts';
import { holding } from '../../../text-pattern.ts';
import { findCrawler } from '../../config/find-crawler.ts';
import { plainText } from '../../config/text-fields.ts';
import { findSnapshot } from '../find-snapshot.ts';
import { entryKinds } from '../snapshot.entity.ts';
import { snapshotEntry, snapshotNumber } from '../snapshots.schema.ts';

const filtered = `
  from snapshot_entry where snapshot_id = ? and (?::text is null or kind = ?) and url ilike ?`;

type Row = Omit<z.output<typeof snapshotEntry>, 'bytes' | 'fetched_at'> & { bytes: string; fetched_at: string | Date };

export const listSnapshotEntries = projectOperation({
  name: 'crawlers.listSnapshotEntries',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the URLs of a snapshot, by URL',
  input: z.object({
    ...snapshotNumber,
    kind: z.enum(entryKinds).optional(),
    q: plainText('must be text')
      .max(2048, 'must be at most 2048 characters')
      .optional()
      .describe('Part of the URL, in letters of either case'),
    ...pageInput,
  }),
  output: pageOf(snapshotEntry),
  async execute({ em, project }, { crawler: name, snapshot: id, kind = null, q = '', ...paging }) {
    const crawler = await findCrawler({ em, project }, name);
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
