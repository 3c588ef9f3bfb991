import type { ClassType } from 'type-graphql';
import { getRun, listRunLog, listRunPages, listRuns } from '../../../domain/crawlers/runs/runs.operations.ts';
import { crawlerLogLine } from '../../../domain/crawlers/runs/runs.schema.ts';
import { classOf } from '../../types/derive.ts';
import { argsOf, connectionOf, outputOf } from '../../types/operations.ts';
import type { Placed, ProjectArgs } from '../places.ts';

export const CrawlerRun: ClassType = outputOf(getRun);
export const CrawlerRunConnection: ClassType = connectionOf(listRuns, 'CrawlerRun');
export const CrawlerPageConnection: ClassType = connectionOf(listRunPages, 'CrawlerPage');
export const CrawlerLogLine: ClassType = classOf(crawlerLogLine, 'CrawlerLogLine', false);
export const RunsArgs = argsOf(listRuns, ['crawler']);
export const RunPagesArgs = argsOf(listRunPages, ['crawler', 'run_id']);
export const RunLogArgs = argsOf(listRunLog, ['crawler', 'run_id']);

/** What a run's edges find in their parent. */
export type RunParent = Placed<ProjectArgs & { crawler: string }> & { id: number };

/** A run's record with its place; a crawler's number names it as well as its UUID. */
export const placedRun = <Record extends { id: number; crawler_config_id: number }>(
  { organization, project }: ProjectArgs,
  record: Record,
) => ({ ...record, at: { organization, project, crawler: String(record.crawler_config_id) } });
