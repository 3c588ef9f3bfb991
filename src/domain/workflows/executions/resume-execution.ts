import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import { advanceJob } from '../engine/advance-job.ts';
import type { Execution } from './execution.entity.ts';
import { executionSubject } from './execution-feed.ts';

interface WaitingRow {
  input: { schema?: object | null } | null;
  next_try_at: Date | string | null;
  started_at: Date | string | null;
}

const answerSql = `
  update step_run set status = 'completed', output = ?::json, finished_at = ?, next_try_at = null, waits_for = null
  where execution_id = ? and path = ?`;

/**
 * Answers a step that waits for a person, and lets the execution go on, in the caller's transaction, which holds its row.
 * @throws DomainError `not_found`, `conflict` when the step does not wait, `validation_failed` when the answer is not what it asks for
 */
export async function resumeExecution(
  em: EntityManager,
  services: Services,
  row: Execution,
  { path, input, by }: { path: string; input: unknown; by: string },
): Promise<void> {
  const [run] = await em.execute<(WaitingRow & { status: string; type: string })[]>(
    'select input, status, type, next_try_at, started_at from step_run where execution_id = ? and path = ?',
    [row.id, path],
  );
  if (!run) throw new DomainError('not_found', 'path: the execution has no such step run');
  const isOpen = ['pending', 'running', 'paused'].includes(row.status) && !row.cancel_requested;
  const now = services.clock.now();
  // Whoever ends the wait looks for an answer first: one that is let in later would be told to be taken, and lost.
  const isLate = run.next_try_at !== null && new Date(run.next_try_at) <= now;
  if (!isOpen || run.type !== 'wait_for_input' || run.status !== 'waiting' || isLate)
    throw new DomainError('conflict', 'path: the step does not wait for input');
  const { schema } = run.input ?? {};
  if (schema) {
    const faults = await services.expressions.validate(schema, input ?? null);
    const errors = faults.map(({ field, message }) => ({ field: `/input${field}`, code: 'invalid', message }));
    const [first] = errors;
    if (first)
      throw new DomainError('validation_failed', `input${first.field.slice(6)}: ${first.message}`, {
        details: { errors },
      });
  }
  await em.execute(answerSql, [JSON.stringify(input ?? null), now, row.id, path]);
  const event = {
    type: 'step.completed',
    at: now.toISOString(),
    path,
    status: 'completed',
    actor: by,
    ...(run.started_at !== null && { duration_ms: now.getTime() - new Date(run.started_at).getTime() }),
  };
  await services.events.append(em, [{ subject: executionSubject(row), events: [event] }]);
  await em.execute('update execution set wake = true where id = ?', [row.id]);
  await services.jobs.sendMany(advanceJob, [{ execution_id: row.id }], { em });
}
