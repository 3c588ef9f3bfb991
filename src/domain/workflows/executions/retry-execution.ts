import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import { Delivery } from '../deliveries/delivery.entity.ts';
import { hasExpired } from '../deliveries/has-expired.ts';
import { type Workflow, WorkflowVersion } from '../workflow.entity.ts';
import { beginExecution } from './begin-execution.ts';
import type { Execution } from './execution.entity.ts';
import { retainedSteps } from './retained-steps.ts';
import type { StepRun } from './step-run.entity.ts';

/** From where an execution is tried again, and by which version. */
export interface RetryRequest {
  from: 'failed_step' | 'start';
  version: 'same' | 'latest';
  started_by: string;
}

type Needs = Pick<Services, 'clock' | 'events' | 'jobs'>;

// What is left open has its time limits from now on.
const copySql = `
  insert into step_run (execution_id, path, position, step_id, type, status, tries, input, output, output_sha256, error, waits_for,
    started_at, finished_at, next_try_at)
  select ?, path, position, step_id, type, case when kept then status else 'running' end, tries, input, output, output_sha256,
    case when kept then error end, null, case when kept then started_at else ?::timestamptz end,
    case when kept then finished_at end, null
  from step_run join json_to_recordset(?::json) as retained (path text, kept boolean) using (path) where execution_id = ?`;

async function copySteps(em: EntityManager, { clock }: Needs, row: Execution, id: string): Promise<void> {
  const { definition } = await em.findOneOrFail(WorkflowVersion, { workflow_id: row.workflow_id, number: row.version });
  const runs = await em.execute<Pick<StepRun, 'path' | 'step_id' | 'status'>[]>(
    'select path, step_id, status from step_run where execution_id = ? order by position',
    [row.id],
  );
  const retained = retainedSteps(definition, runs);
  if (retained.length > 0) await em.execute(copySql, [id, clock.now(), JSON.stringify(retained), row.id]);
  // Its steps are read when it is taken up.
  await em.execute(`update execution set state = '{}'::json where id = ?`, [id]);
}

/**
 * Tries a failed or cancelled execution again, as a new one, in the caller's transaction, which holds its row: what it had completed is
 * copied and does not run again, unless it is to begin at the start. A dead letter is taken note of by that. @returns the new one's id
 * @throws DomainError `busy` when it has not failed, `in_use` when what started it is not kept any more
 */
export async function retryExecution(
  em: EntityManager,
  services: Needs,
  workflow: Workflow,
  row: Execution,
  { from, version, started_by }: RetryRequest,
): Promise<string> {
  const { delivery_id = null, trigger_id, trigger_type } = row;
  if (row.status !== 'failed' && row.status !== 'cancelled')
    throw new DomainError('busy', `The execution is ${row.status}; only a failed or cancelled one is tried again`);
  if (delivery_id !== null) {
    const delivery = await em.findOne(Delivery, { id: delivery_id }, { disableIdentityMap: true });
    if (!delivery || hasExpired(delivery))
      throw new DomainError('in_use', 'The bytes that started this execution are not kept any more');
  }
  row.acknowledged_at ??= services.clock.now();
  await em.flush();
  const id = await beginExecution(em, services, {
    workflow,
    version: version === 'latest' ? workflow.version : row.version,
    trigger: { type: trigger_type, ...(trigger_id && { id: trigger_id }) },
    ...(delivery_id === null ? { input: row.input ?? null } : { delivery_id }),
    started_by,
    retry_of: row.id,
  });
  const hasBegun = row.started_at !== null && row.started_at !== undefined;
  if (from === 'failed_step' && version === 'same' && hasBegun) await copySteps(em, services, row, id);
  return id;
}
