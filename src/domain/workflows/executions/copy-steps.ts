import type { EntityManager } from '@mikro-orm/postgresql';
import type { WorkflowDefinition } from '../definition/definition.schema.ts';
import { WorkflowVersion } from '../workflow.entity.ts';
import type { Execution } from './execution.entity.ts';
import { retainedSteps } from './retained-steps.ts';
import type { StepRun } from './step-run.entity.ts';

// What is left open has its time limits from now on; what was cut off has made no try of the new execution yet.
const copySql = `
  insert into step_run (execution_id, path, position, step_id, type, status, tries, input, output, output_sha256, error, waits_for,
    tried_in, started_at, finished_at, next_try_at)
  select ?, path, position, step_id, type, case when kept then status when retained.tried_in is null then 'running' else 'pending' end,
    case when retained.tried_in is null then tries else 0 end, input, output, output_sha256,
    case when kept then error end, null, retained.tried_in, case when kept then started_at else ?::timestamptz end,
    case when kept then finished_at end, null
  from step_run join json_to_recordset(?::json) as retained (path text, kept boolean, tried_in uuid) using (path) where execution_id = ?`;

/** Copies what does not run again of executions to the ones, by their `id`, that try them again. */
export async function copySteps(
  em: EntityManager,
  now: Date,
  pairs: readonly { row: Pick<Execution, 'id' | 'workflow_id' | 'version'>; id: string }[],
): Promise<void> {
  const definitions = new Map<string, WorkflowDefinition>();
  for (const { row, id } of pairs) {
    const name = `${row.workflow_id} ${row.version}`;
    const definition =
      definitions.get(name) ??
      (await em.findOneOrFail(WorkflowVersion, { workflow_id: row.workflow_id, number: row.version })).definition;
    definitions.set(name, definition);
    const runs = await em.execute<Pick<StepRun, 'path' | 'step_id' | 'status' | 'tried_in'>[]>(
      'select path, step_id, status, tried_in from step_run where execution_id = ? order by position',
      [row.id],
    );
    const retained = retainedSteps(definition, runs);
    if (retained.length > 0) await em.execute(copySql, [id, now, JSON.stringify(retained), row.id]);
  }
  // With a state, the steps of an execution are read when it is taken up.
  const ids = pairs.map(({ id }) => id).join(' ');
  await em.execute(`update execution set state = '{}'::json where id = any(string_to_array(?, ' ')::uuid[])`, [ids]);
}
