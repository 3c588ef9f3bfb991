import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { findRun } from '../runs/run-record.ts';
import { findSchedule } from '../schedules/schedule-record.ts';
import { findSnapshot } from '../snapshots/find-snapshot.ts';
import { findCrawler } from './find-crawler.ts';

/**
 * Looks whether the crawler an input names is there, and what it names of that crawler, where the operation takes one.
 * @throws DomainError `not_found`
 */
export async function checkCrawler(
  schema: z.ZodObject,
  em: () => EntityManager,
  project: ProjectRef | null,
  input: unknown,
): Promise<void> {
  const { crawler: name, crawler_schedule, run_id, snapshot } = input as Record<string, unknown>;
  if (!project || !Object.hasOwn(schema.shape, 'crawler') || typeof name !== 'string') return;
  const crawler = await findCrawler({ em: em(), project }, name);
  const takes = (field: string) => Object.hasOwn(schema.shape, field);
  if (takes('crawler_schedule') && typeof crawler_schedule === 'string')
    await findSchedule({ em: em() }, crawler, crawler_schedule);
  if (takes('run_id') && Number.isInteger(run_id)) await findRun(em(), crawler.id, Number(run_id));
  if (takes('snapshot') && Number.isInteger(snapshot)) await findSnapshot(em(), crawler.id, Number(snapshot));
}
