import type { EntityManager } from '@mikro-orm/postgresql';
import type { DeploymentJob } from '../deployment.entity.ts';

/** A part of a job's log. Offsets count bytes of all that was written, kept or not. */
export interface LogPart {
  offset: number;
  /** Where to go on. */
  next_offset: number;
  text: string;
  /** The job has ended and this part is the last. */
  complete: boolean;
}

/** Bytes of one part: all that is kept of a log, so that a download is one part. */
const mostBytes = 5 * 1024 * 1024;

const leftOut = (bytes: number) => `[… ${bytes} bytes left out …]\n`;

/** What a log holds from an offset on; where the middle of a long one is not kept, a line says so. */
export async function readLog(em: EntityManager, job: DeploymentJob, offset: number): Promise<LogPart> {
  const rows = await em.execute<{ start: string; content: Buffer }[]>(
    'select start, content from deployment_log where job_id = ? and start + size > ? order by start',
    [job.id, offset],
  );
  const parts: string[] = [];
  let next = Math.min(offset, job.log_size);
  let bytes = 0;
  for (const { start: text, content } of rows) {
    const start = Number(text);
    if (bytes + content.length > mostBytes) break;
    if (start > next) parts.push(leftOut(start - next));
    const from = Math.max(0, next - start);
    parts.push(content.subarray(from).toString('utf8'));
    bytes += content.length - from;
    next = start + content.length;
  }
  return {
    offset,
    next_offset: next,
    text: parts.join(''),
    complete: job.status === 'completed' && next >= job.log_size,
  };
}
