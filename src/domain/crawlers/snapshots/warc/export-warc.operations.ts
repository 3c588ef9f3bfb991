import { z } from 'zod';
import { projectOperation } from '../../../operation.ts';
import { findCrawler } from '../../config/find-crawler.ts';
import { findSnapshot, requireCaptured, requireFiles } from '../find-snapshot.ts';
import { snapshotNumber } from '../snapshots.schema.ts';
import { exportWarc, warcName } from './export-warc.ts';

export const exportWarcFile = projectOperation({
  name: 'crawlers.exportWarc',
  kind: 'query',
  permission: 'browse_crawlers',
  conflicts: true,
  summary: 'Export a snapshot as a WARC file',
  input: z.object(snapshotNumber),
  output: z.object({ name: z.string().describe('Name for the file') }),
  async execute(context, input) {
    const { em, services } = context;
    const crawler = await findCrawler(context, input.crawler);
    const snapshot = await findSnapshot(em, crawler.id, input.snapshot);
    requireCaptured(snapshot);
    requireFiles(snapshot);
    context.attachStream(exportWarc(em, services.blobs, snapshot, `Portico/${services.settings.version}`));
    return { name: warcName(snapshot) };
  },
});
