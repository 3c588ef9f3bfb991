import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { openCore } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/database.ts';
import type { Services } from '../src/domain/services.ts';
import { advanceJob } from '../src/domain/workflows/engine/advance-job.ts';
import { beginExecutions } from '../src/domain/workflows/executions/begin-execution.ts';
import { createWorkflow } from '../src/domain/workflows/save-workflow.operations.ts';
import { Workflow } from '../src/domain/workflows/workflow.entity.ts';
import { workflowAdvanceJobFor } from '../src/jobs/workflow-advance.job.ts';
import { createLog } from '../src/log.ts';
import { type Bench, type Benchmark, type Case, check } from './benchmark.ts';
import { makeProject } from './support/bench-project.ts';

const together = 100;
/** Executions a second the service has to reach. */
const wanted = 1_500;

/** A worker on a database of its own, whose jobs wait until they are let. */
async function openWorker(bench: Bench) {
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
    await core.services.executing.close();
    await core.queue.stop(5);
  });
  return { services: core.services, gate };
}

async function prepare(services: Services): Promise<(definition: object) => Promise<Workflow>> {
  const call = await makeProject(services);
  return async (definition) => {
    const { id } = (await call(createWorkflow, { name: 'Bench', definition })) as { id: string };
    return services.orm.em.fork().findOneOrFail(Workflow, { id });
  };
}

/** @returns executions a second, from the first job until the last one has ended */
async function drain(
  { services, gate }: Awaited<ReturnType<typeof openWorker>>,
  workflow: Workflow,
  count: number,
): Promise<number> {
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
  return (count * 1000) / (performance.now() - began);
}

const definition = (steps: object[]) => ({ portico: 'workflow/1', steps });
const ids = ['a', 'b', 'c'];

/** A peer that answers at once. */
async function startPeer(bench: Bench): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(200).end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  bench.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

export const executions: Benchmark = {
  name: 'engine',
  summary: 'three-step executions drained from the queue, everything durable',
  async run(bench) {
    const worker = await openWorker(bench);
    const save = await prepare(worker.services);
    const count = bench.scaled(2_000, 200);
    const plain = await save(definition(ids.map((id) => ({ id, type: 'transform', expression: 'input.name' }))));
    const jsonata = await save(
      definition(ids.map((id) => ({ id, type: 'transform', expression: `"${id} " & input.name` }))),
    );
    const url = await startPeer(bench);
    const calls = await save(definition(ids.map((id) => ({ id, type: 'http', method: 'POST', url }))));
    await drain(worker, plain, Math.min(count, 200));
    const rates: number[] = [];
    for (let round = 0; round < 3; round += 1) rates.push(await drain(worker, plain, count));
    const cases: Case[] = [
      { name: 'three steps', unit: '1/s', value: rates.toSorted((a, b) => a - b)[1] ?? 0, runs: 3, atLeast: wanted },
      { name: 'three JSONata expressions', unit: '1/s', value: await drain(worker, jsonata, count) },
      { name: 'three calls over HTTP', unit: '1/s', value: await drain(worker, calls, Math.ceil(count / 4)) },
    ];
    return {
      cases,
      notes: [
        `${count} executions each; client, worker and PostgreSQL with fsync share the machine`,
        'steps without effect share a checkpoint; each call over HTTP has one before it and one after it',
      ],
    };
  },
};
