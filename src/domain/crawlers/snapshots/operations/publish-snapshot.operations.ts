import { z } from 'zod';
import { DomainError } from '../../../errors.ts';
import { notify } from '../../../notifications/notify.ts';
import { projectOperation } from '../../../operation.ts';
import { findCrawler } from '../../config/find-crawler.ts';
import { findSnapshot, requireCaptured, requireFiles } from '../find-snapshot.ts';
import { makeLive } from '../seal/publish.ts';
import type { CrawlSnapshot } from '../snapshot.entity.ts';
import { openSnapshot } from '../snapshot-record.ts';
import { snapshot, snapshotNumber } from '../snapshots.schema.ts';

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

export const publishSnapshot = projectOperation({
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
    const told = { snapshot: { id, state, published: true, checks: checks ?? [] } };
    await notify(em, services, crawler, 'crawler.snapshot.published', told);
    return openSnapshot(context, row, crawler);
  },
});
