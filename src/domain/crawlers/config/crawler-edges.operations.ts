import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { maxPerPage } from '../../paging.ts';
import { CrawlSnapshot } from '../snapshots/snapshot.entity.ts';
import { snapshotRecords } from '../snapshots/snapshot-record.ts';
import { snapshot } from '../snapshots/snapshots.schema.ts';
import { Crawler } from './crawler.entity.ts';

export const getPublishedSnapshots = projectOperation({
  name: 'crawlers.getPublishedSnapshots',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get the live snapshots of many crawlers, each null where there is none',
  input: z.object({ crawlers: z.array(z.int32()).max(maxPerPage) }),
  output: z.array(snapshot.nullable()),
  async execute({ em, project }, { crawlers: ids }) {
    const crawlers = await em.find(Crawler, { id: { $in: ids }, project_id: project.id, deleted_at: null });
    const live = crawlers.flatMap(({ published_snapshot_id }) => published_snapshot_id ?? []);
    const snapshots = await em.find(CrawlSnapshot, { id: { $in: live } });
    const records = await snapshotRecords(em, snapshots, crawlers);
    return ids.map((id) => records.find(({ crawler_id }) => crawler_id === id) ?? null);
  },
});
