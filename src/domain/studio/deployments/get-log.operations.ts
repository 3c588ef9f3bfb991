import { raw } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { pageFrom, pageInput, pageOf, totalOf, windowOf } from '../../../kernel/paging.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { DeploymentJob } from './deployment.entity.ts';
import { locateDeployment } from './deployment-record.ts';
import { deploymentNumber } from './deployments.schema.ts';

/** A part of a job's log. Offsets count bytes of all that was written, kept or not. */
interface LogPart {
  offset: number;
  /** Where to go on. */
  next_offset: number;
  text: string;
  /** The job has ended and this part is the last. */
  complete: boolean;
}

/** Bytes of one part: all that is kept of a log, so that a download is one part. */
const mostBytes = 5 * 1024 * 1024;

/** Bytes of one part for a subscriber, who gets the next one when that has come. */
const mostAtOnce = 1024 * 1024;

// Pieces have 64 KiB at most, so that a part has at least one. `last`: where the log ends.
const partSql = `
  select start, content, last from (
    select start, content, max(start + size) over () as last,
      sum(start + size - greatest(start, ?)) over (order by start) as bytes
    from deployment_log where job_id = ? and start + size > ?) as piece
  where bytes <= ? order by start`;

const leftOut = (bytes: number) => `[… ${bytes} bytes left out …]\n`;

/**
 * What a log holds from an offset on; where the middle of a long one is not kept, a line says so.
 * @param most bytes of it
 */
export async function readLog(
  em: EntityManager,
  job: DeploymentJob,
  offset: number,
  most = mostBytes,
): Promise<LogPart> {
  const values = [offset, job.id, offset, most];
  const rows = await em.execute<{ start: string; content: Buffer; last: string }[]>(partSql, values);
  const parts: string[] = [];
  // The row may be older than its log: what was passed over must not come again.
  let next = rows.length > 0 ? offset : Math.min(offset, job.log_size);
  for (const { start: text, content } of rows) {
    const start = Number(text);
    if (start > next) parts.push(leftOut(start - next));
    const from = Math.max(0, next - start);
    parts.push(content.subarray(from).toString('utf8'));
    next = start + content.length;
  }
  const isCut = next < Number(rows[0]?.last ?? 0);
  const hasEnded = job.status === 'completed';
  // An old log is no longer kept, and of one that could not be stored the end may be missing.
  if (hasEnded && !isCut && next < job.log_size) {
    parts.push(leftOut(job.log_size - next));
    next = job.log_size;
  }
  return {
    offset,
    next_offset: next,
    text: parts.join(''),
    complete: hasEnded && next >= job.log_size,
  };
}

/** A piece of a log as subscribers receive it. */
export const logText = z
  .object({ offset: z.int().min(0).describe('Bytes of the log before it'), text: z.string() })
  .meta({ id: 'DeploymentLogText' });

export const logPart = z
  .object({
    offset: z.int().min(0),
    next_offset: z.int().min(0).describe('Where to go on'),
    text: z.string(),
    complete: z.boolean().describe('The job has ended and the log is complete'),
  })
  .meta({ id: 'DeploymentLogPart' });

const logChunk = z
  .object({
    offset: z
      .int()
      .min(0)
      .describe(
        'Bytes of the log before it. Of a long log the middle is not kept: then there is a gap between two chunks',
      ),
    next_offset: z.int().min(0).describe('Where it ends'),
    text: z.string(),
  })
  .meta({ id: 'DeploymentLogChunk' });

const jobName = { ...deploymentNumber, job: z.int32().min(1, 'must be at least 1').describe('Id of the job') };

/** @throws DomainError `not_found` */
async function findJob(
  context: Pick<StudioContext, 'em' | 'project'>,
  { deployment, job }: { deployment: number; job: number },
): Promise<DeploymentJob> {
  const isHere = raw('exists (select 1 from deployment where id = deployment_id and project_id = ?)', [
    context.project.id,
  ]);
  const row = await context.em.findOne(DeploymentJob, { id: job, deployment_id: deployment, [isHere]: [] });
  if (row) return row;
  const { id } = await locateDeployment(context, deployment);
  throw new DomainError('not_found', `job: deployment ${id} has no job ${job}`);
}

export const listDeploymentLog = studioOperation({
  name: 'studio.listDeploymentLog',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'List the log of a deployment job in the chunks it was stored in',
  input: z.object({
    ...jobName,
    ...pageInput,
    offset: z.int().min(0, 'must be at least 0').optional().describe('Only what is behind so many bytes'),
  }),
  output: pageOf(logChunk),
  async execute(context, { deployment, job, offset = 0, ...paging }) {
    const { em } = context;
    const { id } = await findJob(context, { deployment, job });
    const window = windowOf(paging);
    const rows = await em.execute<{ start: string; content: Buffer }[]>(
      'select start, content from deployment_log where job_id = ? and start + size > ? order by start limit ? offset ?',
      [id, offset, window.limit, window.offset],
    );
    const chunks = rows.map(({ start, content }) => {
      const from = Math.max(offset, Number(start));
      const text = content.subarray(from - Number(start)).toString('utf8');
      return { offset: from, next_offset: Number(start) + content.length, text };
    });
    const total = await totalOf(rows.length, window, async () => {
      const [row] = await em.execute<{ count: number }[]>(
        'select count(*)::integer as count from deployment_log where job_id = ? and start + size > ?',
        [id, offset],
      );
      return row?.count ?? 0;
    });
    return pageFrom(chunks, total, window);
  },
});

/** Takes room for a part of a log before it is read. */
const roomForPart = (
  { room }: Pick<StudioContext, 'room'>,
  { log_size }: DeploymentJob,
  offset: number,
  most: number,
) => room(Math.min(most, Math.max(0, log_size - offset)));

export const getDeploymentLog = studioOperation({
  name: 'studio.getDeploymentLog',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Read the log of a deployment job from an offset',
  input: z.object({
    ...jobName,
    offset: z.int().min(0, 'must be at least 0').default(0).describe('Bytes to skip'),
  }),
  output: logPart,
  async execute(context, { deployment, job, offset }) {
    const row = await findJob(context, { deployment, job });
    await roomForPart(context, row, offset, mostBytes);
    const part = await readLog(context.em, row, offset);
    context.attach(Buffer.from(part.text));
    return part;
  },
});

/** One look of who follows a log. */
export const readDeploymentLog = studioOperation({
  name: 'studio.readDeploymentLog',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Follow the log of a deployment job',
  input: getDeploymentLog.input,
  output: logPart.extend({ more: z.boolean().describe('The next part is stored already') }),
  async execute(context, { deployment, job, offset }) {
    const row = await findJob(context, { deployment, job });
    await roomForPart(context, row, offset, mostAtOnce);
    const part = await readLog(context.em, row, offset, mostAtOnce);
    return { ...part, more: part.text !== '' && part.next_offset < row.log_size };
  },
});
