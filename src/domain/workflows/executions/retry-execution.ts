import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../services.ts';
import type { Workflow } from '../workflow.entity.ts';
import { beginExecution } from './begin-execution.ts';
import type { Execution } from './execution.entity.ts';

/** From where an execution is tried again, and by which version. */
export interface RetryRequest {
  from: 'failed_step' | 'start';
  version: number;
  started_by: string;
}

// Steps that hold others are left open with them, so that what has not run comes after what has.
const copySql = `
  insert into step_run (execution_id, path, position, step_id, type, status, tries, input, output, output_sha256, error, waits_for,
    started_at, finished_at, next_try_at)
  select ?, path, position, step_id, type, case when status = 'completed' or status = 'skipped' then status else 'running' end, tries,
    input, output, output_sha256, null, null, started_at, case when status in ('completed', 'skipped') then finished_at end, null
  from step_run where execution_id = ? and path not like 'on\\_failure.%'
    and (status in ('completed', 'skipped') or (type in ('condition', 'for_each', 'parallel') and status in ('failed', 'cancelled')
      and input is not null or type = 'parallel' and status in ('failed', 'cancelled')))`;

/** Begins an execution anew: what it had completed is copied and does not run again, unless it is to begin at the start. @returns its id */
export async function retryExecution(
  em: EntityManager,
  services: Services,
  workflow: Workflow,
  row: Execution,
  { from, version, started_by }: RetryRequest,
): Promise<string> {
  const { delivery_id, trigger_id, trigger_type } = row;
  const id = await beginExecution(em, services, {
    workflow,
    version,
    trigger: { type: trigger_type, ...(trigger_id && { id: trigger_id }) },
    ...(delivery_id ? { delivery_id } : { input: row.input ?? null }),
    started_by,
    retry_of: row.id,
  });
  if (from === 'start') return id;
  await em.execute(copySql, [id, row.id]);
  // It has passed its condition before, and goes on within; its steps are read when it is taken up.
  const begun = row.started_at !== null && row.started_at !== undefined;
  if (begun) await em.execute(`update execution set state = '{}'::json where id = ?`, [id]);
  return id;
}
