import type { TestApp } from './app.ts';

/** Puts an execution of a project that has just ended where it is looked for, with how many have started one another down to it. */
export async function executionOfGeneration(app: TestApp, generation: number, ended: Date): Promise<void> {
  const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: transform, expression: input}\n';
  const made = await app.ask('POST', '/api/v2/organizations/acme/projects/site/workflows', {
    body: { name: `Of generation ${generation} ${ended.getTime()}`, definition },
  });
  await app.services.orm.em.fork().execute(
    `insert into execution (id, project_id, workflow_id, version, status, trigger_type, attempt, crashes, wake, cancel_requested, has_slot,
       created_at, started_at, finished_at, generation)
     select gen_random_uuid(), project_id, id, 1, 'completed', 'manual', 1, 0, false, false, false, ?, ?, ?, ? from workflow where id = ?`,
    [ended, ended, ended, generation, made.body.id],
  );
}
