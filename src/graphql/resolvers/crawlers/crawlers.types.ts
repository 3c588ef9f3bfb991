import type { ClassType } from 'type-graphql';
import { getCrawler } from '../../../domain/crawlers/config/crawlers.operations.ts';
import { connectionOf, outputOf } from '../../types/operations.ts';
import type { Placed, ProjectArgs } from '../places.ts';

export const Crawler: ClassType = outputOf(getCrawler, { edges: ['verification', 'last_run'] });
export const CrawlerConnection: ClassType = connectionOf(getCrawler);

/** What a crawler's edges find in their parent: `at.crawler` names it to operations. */
export type CrawlerParent = Placed<ProjectArgs & { crawler: string }> & {
  id: number;
  uuid: string;
  published_snapshot_id: number | null;
  last_run: { id: number } | null;
};

/** A crawler's record with its place. */
export const placedCrawler = <Record extends { uuid: string }>(
  { organization, project }: ProjectArgs,
  record: Record,
) => ({
  ...record,
  at: { organization, project, crawler: record.uuid },
});
