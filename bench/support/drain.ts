import path from 'node:path';
import type { AllServices } from '../../src/domain/services.ts';
import { advanceJob } from '../../src/domain/workflows/advance-job.ts';
import { beginExecutions } from '../../src/domain/workflows/executions/begin-execution.ts';
import { Workflow } from '../../src/domain/workflows/workflow.entity.ts';
import { createWorkflow } from '../../src/domain/workflows/workflows.operations.ts';
import { workflowAdvanceJobFor } from '../../src/jobs/job-handlers.ts';
import { readConfig } from '../../src/server/config.ts';
import { openCore } from '../../src/server/core.ts';
import { openDatabase } from '../../src/server/database.ts';
import { createLog } from '../../src/server/log.ts';
import { type Bench, check } from '../benchmark.ts';
import { makeProject } from './bench-project.ts';

/** Executions begun in one transaction. */
const together = 100;

/** A worker on a database of its own, whose jobs wait until they are let. */
export async function openWorker(bench: Bench) {
  const dataDir = path.join(await bench.directory(), 'data');
  const { config } = readConfig({ PORTICO_DATA_DIR: dataDir, PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
  const log = createLog({ level: 'error', redactHeaders: [] });
  const database = await openDatabase(config, log);
  bench.defer(() => database.stop());
  const settings = { public_url: 'http://localhost', public_host: 'localhost' };
  const core = await openCore({ config, databaseUrl: database.url, log, settings });
  bench.defer(() => core.close());
  const gate = { opens: Promise.resolve() };
  const job = workflowAdvanceJobFor(core.services);
  const held = {
    ...job,
    handleAll: async (payloads: { execution_id: string }[]) => {
      await gate.opens;
      await job.handleAll(payloads);
    },
  };
  await core.queue.start({ kinds: [advanceJob], jobs: [held] });
  bench.defer(async () => {
    await core.services.workflows.engine.close();
    await core.queue.stop(5);
  });
  return { services: core.services, gate, databaseUrl: database.url };
}

/** A project. @returns how to save a workflow in it */
export async function prepare(services: AllServices): Promise<(definition: object) => Promise<Workflow>> {
  const call = await makeProject(services);
  return async (definition) => {
    const { id } = (await call(createWorkflow, { name: 'Bench', definition })) as { id: string };
    return services.orm.em.fork().findOneOrFail(Workflow, { id });
  };
}

export interface Drained {
  /** Executions a second from the first job until the last one has ended. */
  rate: number;
  /** The same with the time it took to begin them, a hundred in each transaction. */
  wholeRate: number;
}

/** Begins executions while none is taken up, then lets them be. */
export async function drain(
  { services, gate }: Awaited<ReturnType<typeof openWorker>>,
  workflow: Workflow,
  count: number,
): Promise<Drained> {
  const first = performance.now();
  let open = () => {};
  gate.opens = new Promise((resolve) => {
    open = resolve;
  });
  for (let begun = 0; begun < count; begun += together)
    await services.orm.em.fork().transactional((em) =>
      beginExecutions(
        em,
        services,
        Array.from({ length: Math.min(together, count - begun) }, (_, index) => ({
          workflow,
          trigger: { type: 'manual' as const },
          input: { number: begun + index, name: 'Ann' },
        })),
      ),
    );
  const began = performance.now();
  open();
  for (;;) {
    const [row] = await services.orm.em.fork().execute<{ left: number; failed: number }[]>(
      `select count(*) filter (where finished_at is null)::integer as left,
           count(*) filter (where status = 'failed')::integer as failed from execution where workflow_id = ?`,
      [workflow.id],
    );
    check(row?.failed === 0, 'an execution has failed');
    if (row?.left === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const ended = performance.now();
  return { rate: (count * 1000) / (ended - began), wholeRate: (count * 1000) / (ended - first) };
}
