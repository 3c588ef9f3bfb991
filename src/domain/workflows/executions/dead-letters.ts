import type { EntityManager } from '@mikro-orm/postgresql';
import { Execution } from './execution.entity.ts';

/** Dead letters that are changed by one call at most. */
export const mostAtOnce = 500;

/** Which of a project's dead letters: those of one workflow, or named ones. Executions of deleted workflows are none. */
export interface DeadLetterFilter {
  project_id: number;
  workflow?: string | undefined;
  executions?: readonly string[] | undefined;
}

// As the index has it.
const where = `execution.status = 'failed' and execution.acknowledged_at is null and execution.project_id = ?
  and exists (select 1 from workflow where workflow.id = execution.workflow_id and deleted_at is null)`;

function conditionOf({ project_id, workflow, executions }: DeadLetterFilter): { sql: string; values: unknown[] } {
  const named = executions === undefined ? '' : ` and execution.id = any(string_to_array(?, ' ')::uuid[])`;
  return {
    sql: where + (workflow === undefined ? '' : ' and execution.workflow_id::text = ?') + named,
    values: [
      project_id,
      ...(workflow === undefined ? [] : [workflow]),
      ...(executions === undefined ? [] : [executions.join(' ')]),
    ],
  };
}

/** How many there are: failed executions that are not acknowledged. */
export async function countDeadLetters(em: EntityManager, filter: DeadLetterFilter): Promise<number> {
  const { sql, values } = conditionOf(filter);
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::integer as count from execution where ${sql}`,
    values,
  );
  return row?.count ?? 0;
}

/** A window of them, those that failed last first. */
export async function readDeadLetters(
  em: EntityManager,
  filter: DeadLetterFilter,
  { offset, limit }: { offset: number; limit: number },
): Promise<Execution[]> {
  const { sql, values } = conditionOf(filter);
  const ids = await em.execute<{ id: string }[]>(
    `select id from execution where ${sql} order by finished_at desc, id desc offset ? limit ?`,
    [...values, offset, limit],
  );
  const rows = await em.find(
    Execution,
    { id: { $in: ids.map(({ id }) => id) } },
    { orderBy: { finished_at: 'desc', id: 'desc' }, disableIdentityMap: true, exclude: ['input', 'output', 'state'] },
  );
  return rows as Execution[];
}

/** Holds those that failed last until the transaction ends; those that another transaction holds are left to it. The oldest comes first. */
export async function holdDeadLetters(em: EntityManager, filter: DeadLetterFilter): Promise<Execution[]> {
  const { sql, values } = conditionOf(filter);
  const ids = await em.execute<{ id: string }[]>(
    `select id from execution where ${sql} order by finished_at desc, id desc limit ${mostAtOnce} for update skip locked`,
    values,
  );
  return em.find(
    Execution,
    { id: { $in: ids.map(({ id }) => id) } },
    { orderBy: { finished_at: 'asc', id: 'asc' }, refresh: true },
  );
}
