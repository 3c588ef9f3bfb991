import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import type { EventSubject } from '../../../ports/event-feed.ts';
import type { CrawlerRun } from './crawler-run.entity.ts';

export const logLevels = ['info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** One line of a run's log. */
export interface LogLine {
  level: LogLevel;
  /** What happened, as one word for programs. */
  event: string;
  message: string;
  data?: Record<string, unknown>;
}

/** What is watched of a run: its log, and a wake whenever it has come further. */
export const runSubject = ({ id, project_id }: Pick<CrawlerRun, 'id' | 'project_id'>): EventSubject => ({
  project_id,
  topic: `crawl:${id}`,
});

/** Drops what PostgreSQL cannot store in text, and keeps lines short. */
const storable = (text: string) => text.replaceAll('\u0000', '').toWellFormed().slice(0, 4_000);

/** Writes lines into the log of a run, with the caller's transaction. */
export async function writeLog(
  em: EntityManager,
  { events }: Pick<Services, 'events'>,
  run: Pick<CrawlerRun, 'id' | 'project_id'>,
  lines: readonly LogLine[],
): Promise<void> {
  for (const { data, message, ...line } of lines)
    await events.publish(em, runSubject(run), () => ({ ...line, message: storable(message), ...(data && { data }) }));
}

/** Notifies subscribers of a run when the transaction commits. */
export const announceRun = (
  em: EntityManager,
  { events }: Pick<Services, 'events'>,
  run: Pick<CrawlerRun, 'id' | 'project_id'>,
): Promise<void> => events.announce(em, runSubject(run));
