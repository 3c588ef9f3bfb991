import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { Workflow } from '../workflow.entity.ts';
import { beginExecutions } from './begin-execution.ts';
import { copySteps } from './copy-steps.ts';
import type { Execution } from './execution.entity.ts';

/** From where executions are tried again, and by which version. */
export interface RetryRequest {
  from: 'failed_step' | 'start';
  version: 'same' | 'latest';
  started_by: string;
}

/** An execution that is to be tried again, whose row the caller holds, with its workflow. */
export interface Retried {
  workflow: Workflow;
  row: Execution;
}

type Needs = Pick<Services, 'clock' | 'events' | 'jobs'>;

/** Of deliveries those whose bytes are kept; they stay so until the transaction ends. */
async function keptDeliveries(em: EntityManager, rows: readonly Execution[]): Promise<Set<string>> {
  const ids = rows.flatMap(({ delivery_id }) => delivery_id ?? []);
  if (ids.length === 0) return new Set();
  const kept = await em.execute<{ id: string }[]>(
    `select id from delivery where id = any(string_to_array(?, ' ')::uuid[])
       and (raw_size = 0 or body is not null or body_sha256 is not null)
     order by id for share`,
    [ids.join(' ')],
  );
  return new Set(kept.map(({ id }) => id));
}

/**
 * Tries failed or cancelled executions again, each as a new one, in the caller's transaction: what they had completed is copied and does not
 * run again, unless they are to begin at the start. That acknowledges dead letters.
 * @returns the id of the new one for each, or the refusal `in_use` when what started it is not kept any more
 * @throws DomainError `conflict` when one has not failed
 */
export async function retryExecutions(
  em: EntityManager,
  services: Needs,
  retried: readonly Retried[],
  { from, version, started_by }: RetryRequest,
): Promise<(string | DomainError)[]> {
  for (const { row } of retried)
    if (row.status !== 'failed' && row.status !== 'cancelled')
      throw new DomainError(
        'conflict',
        `The execution is ${row.status}; only a failed or cancelled one is tried again`,
      );
  const rows = retried.map(({ row }) => row);
  const kept = await keptDeliveries(em, rows);
  const able = retried.filter(({ row: { delivery_id } }) => delivery_id == null || kept.has(delivery_id));
  const now = services.clock.now();
  for (const { row } of able) row.acknowledged_at ??= now;
  await em.flush();
  const ids = await beginExecutions(
    em,
    services,
    able.map(({ workflow, row: { id, delivery_id, trigger_id, trigger_type, input, version: number } }) => ({
      workflow,
      version: version === 'latest' ? workflow.version : number,
      trigger: { type: trigger_type, ...(trigger_id && { id: trigger_id }) },
      ...(delivery_id == null ? { input: input ?? null } : { delivery_id }),
      started_by,
      retry_of: id,
    })),
  );
  const begun = new Map(able.map(({ row }, index) => [row.id, ids[index] as string]));
  if (from === 'failed_step' && version === 'same')
    await copySteps(
      em,
      now,
      able.flatMap(({ row }) =>
        // One that has not begun has steps of the one it tries again, if any.
        row.started_at == null && row.retry_of == null ? [] : [{ row, id: begun.get(row.id) as string }],
      ),
    );
  const gone = new DomainError('in_use', 'The bytes that started this execution are not kept any more');
  return rows.map(({ id }) => begun.get(id) ?? gone);
}
