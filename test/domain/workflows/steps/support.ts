import { createHash, randomUUID } from 'node:crypto';
import { secretsOf } from '../../../../src/domain/workflows/secrets.operations.ts';
import type { Step, StepCall } from '../../../../src/domain/workflows/steps/step-type.ts';
import type { Permission } from '../../../../src/kernel/actor.ts';
import type { TestApp } from '../../../support/app.ts';

/** A workflow of the test's project with an execution, for the steps that want one to exist. */
export async function makeExecution(app: TestApp): Promise<{ workflow_id: string; execution_id: string }> {
  const definition = 'portico: workflow/1\nsteps: [{id: a, type: fail}]\n';
  const path = '/api/v2/organizations/acme/projects/site/workflows';
  const { body } = await app.ask('POST', path, { body: { name: 'Steps', definition } });
  const execution_id = randomUUID();
  await app.services.orm.em.fork().execute(
    `insert into execution (id, project_id, workflow_id, version, status, trigger_type, created_at)
     select ?, project_id, id, 1, 'running', 'manual', now() from workflow where id = ?`,
    [execution_id, body.id],
  );
  return { workflow_id: body.id, execution_id };
}

/** A try at a step, as the driver would make it. */
export async function stepCall<S extends Step>(
  app: TestApp,
  ids: { workflow_id: string; execution_id: string },
  step: S,
  more: Partial<StepCall<S>> & { permissions?: readonly Permission[] } = {},
): Promise<StepCall<S>> {
  const em = app.services.orm.em.fork();
  const [organization] = await em.execute(`select * from organization where machine_name = 'acme'`);
  const [project] = await em.execute(`select * from project where machine_name = 'site'`);
  return {
    ...ids,
    step,
    path: step.id,
    permissions: [],
    tries: 1,
    generation: 0,
    idempotency_key: createHash('sha256').update(`${ids.execution_id}|${step.id}`).digest('hex'),
    admit: () => {},
    scope: { input: { body: { n: 7, title: 'Hello' } }, steps: {}, vars: {} },
    secrets: secretsOf(app.services, organization as never, ids.workflow_id),
    services: app.services,
    organization: organization as never,
    project: project as never,
    signal: AbortSignal.timeout(120_000),
    ...more,
  };
}
