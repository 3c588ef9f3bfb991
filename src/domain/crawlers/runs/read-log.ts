import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { CrawlerRun } from './crawler-run.entity.ts';
import { type LogLevel, runSubject } from './run-feed.ts';
import type { crawlerLogLine } from './runs.schema.ts';

interface Row {
  seq: string;
  at: string | Date;
  data: { level: LogLevel; event: string; message: string; data?: Record<string, unknown> };
}

/** Lines of a run's log behind a position, the oldest first. */
export async function readLog(
  em: EntityManager,
  run: Pick<CrawlerRun, 'id' | 'project_id'>,
  { after, level, limit }: { after: number; level?: LogLevel | undefined; limit: number },
): Promise<z.output<typeof crawlerLogLine>[]> {
  const { project_id, topic } = runSubject(run);
  const rows = await em.execute<Row[]>(
    `select seq, at, data from event
     where project_id = ? and topic = ? and seq > ? and (?::text is null or data ->> 'level' = ?) order by seq limit ?`,
    [project_id, topic, after, level ?? null, level ?? null, limit],
  );
  return rows.map(({ seq, at, data: { level: of, event, message, data } }) => ({
    seq: Number(seq),
    at: new Date(at),
    level: of,
    event,
    message,
    data: data ?? null,
  }));
}
