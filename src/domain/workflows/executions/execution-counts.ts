import type { EntityManager } from '@mikro-orm/postgresql';

/** What there is to do for the engine, over all organisations. */
export interface ExecutionCounts {
  /** Open executions by status. */
  open: Record<'pending' | 'running' | 'paused', number>;
  /** Seconds the oldest one waits to begin; 0: none does. */
  pendingSeconds: number;
  /** Failed executions that are not acknowledged. */
  deadLetters: number;
}

/** Counts executions as the database has them; by indexes that hold open ones and dead letters alone. */
export async function executionCounts(em: EntityManager): Promise<ExecutionCounts> {
  const rows = await em.execute<{ status: keyof ExecutionCounts['open']; count: number; seconds: number }[]>(
    `select status, count(*)::integer as count, greatest(extract(epoch from now() - min(created_at)), 0)::float as seconds
     from execution where status in ('pending', 'running', 'paused') group by status`,
  );
  const [dead] = await em.execute<{ count: number }[]>(
    `select count(*)::integer as count from execution
     where status = 'failed' and acknowledged_at is null
       and exists (select 1 from workflow where workflow.id = execution.workflow_id and deleted_at is null)`,
  );
  const open = { pending: 0, running: 0, paused: 0 };
  for (const { status, count } of rows) open[status] = count;
  const pendingSeconds = rows.find(({ status }) => status === 'pending')?.seconds ?? 0;
  return { open, pendingSeconds, deadLetters: dead?.count ?? 0 };
}
