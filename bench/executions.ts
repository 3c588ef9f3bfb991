import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bench, Benchmark, Case } from './benchmark.ts';
import { startDbos } from './support/dbos.ts';
import { type Drained, drain, openWorker, prepare } from './support/drain.ts';
import { median } from './support/statistics.ts';

/** Executions a second the service has to reach. */
const wanted = 1_500;

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
    const dbos = await startDbos(bench, worker.databaseUrl);
    await drain(worker, plain, Math.min(count, 200));
    await dbos(Math.min(count, 100));
    const rounds: Drained[] = [];
    const peer: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      rounds.push(await drain(worker, plain, count));
      peer.push(await dbos(Math.ceil(count / 4)));
    }
    const times = rounds.map(({ wholeRate }, at) => wholeRate / (peer[at] ?? Number.NaN));
    const cases: Case[] = [
      {
        ...{
          name: 'three steps',
          unit: '1/s',
          value: median(rounds.map(({ rate }) => rate)),
          runs: 3,
          atLeast: wanted,
        },
        peers: [{ name: 'DBOS', value: median(peer) }],
      },
      {
        ...{ name: 'three steps, begun and drained', unit: '1/s', runs: 3 },
        value: median(rounds.map(({ wholeRate }) => wholeRate)),
        peers: [{ name: 'DBOS', value: median(peer) }],
      },
      { name: 'begun and drained, times DBOS, median of pairs', unit: '×', value: median(times), runs: 3, atLeast: 7 },
      { name: 'three JSONata expressions', unit: '1/s', value: (await drain(worker, jsonata, count)).rate },
      { name: 'three calls over HTTP', unit: '1/s', value: (await drain(worker, calls, Math.ceil(count / 4))).rate },
    ];
    return {
      cases,
      notes: [
        `${count} executions each; client, worker and PostgreSQL with fsync share the machine`,
        'steps without effect share a checkpoint; each call over HTTP has one before it and one after it',
        'DBOS keeps the result of each step by itself; its workflows are started a hundred at a time in its process, which is faster than by its queue',
      ],
    };
  },
};
