import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { kill, type ServerProcess } from '../support/server-process.ts';
import { executionsOf, type Processes, query, startProcesses, until } from '../support/workflows/processes.ts';

vi.setConfig({ testTimeout: 540_000 });

const kills = 25;
/** Executions that are begun before each kill. */
const begunBetween = 16;
/** A kill every so often, milliseconds, as far as a worker is at work by then. */
const betweenKills = 2_300;
/** How long the peer takes for each call, milliseconds: a kill always finds many under way. */
const callTakes = 800;

const peer = createServer((_request, response) => {
  void setTimeout(callTakes).then(() => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'));
});
afterEach(async () => {
  peer.closeAllConnections();
  await new Promise((resolve) => peer.close(resolve));
});

/** Which of these workers advances the most executions; undefined while none advances any. */
async function busiest(processes: Processes, workers: ReadonlySet<ServerProcess>): Promise<ServerProcess | undefined> {
  const rows = await query<{ pid: number }>(
    processes,
    `select worker.pid from worker join execution on driver_id = worker.id where lost_at is null
     group by worker.id order by count(*) desc, worker.id`,
  );
  const byPid = new Map([...workers].map((worker) => [worker.child.pid, worker]));
  return rows.flatMap(({ pid }) => byPid.get(pid) ?? [])[0];
}

test('every 202 completes after 25 kills of the busiest worker in a minute, none is condemned and nothing is done twice', async ({
  annotate,
}) => {
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
  const processes = await startProcesses();
  const { begin } = await executionsOf(processes, {
    portico: 'workflow/1',
    permissions: ['browse_studio', 'edit_studio'],
    steps: [
      { id: 'before', type: 'http', method: 'POST', url: `${url}/before` },
      { id: 'branch', type: 'operation', operation: 'studio.createBranch', with: { name: 'k-${{ execution.id }}' } },
      { id: 'after', type: 'http', method: 'POST', url: `${url}/after` },
    ],
  });
  const workers = new Set<ServerProcess>();
  const start = async () => void workers.add(await processes.start('worker'));
  const starting = [1, 2, 3].map(start);
  await Promise.all(starting);

  const accepted: string[] = [];
  const began = performance.now();
  for (let killed = 0; killed < kills; killed += 1) {
    accepted.push(...(await begin(begunBetween)));
    await setTimeout(Math.max(0, began + (killed + 1) * betweenKills - performance.now()));
    // On a slow machine all that is left may be held back by a counted loss, for two minutes at most.
    const victim = await until(
      () => busiest(processes, workers),
      (worker) => worker !== undefined,
      180,
    );
    if (victim) {
      workers.delete(victim);
      await kill(victim.child);
    }
    if (killed < kills - 1) starting.push(start());
  }
  const last = performance.now();
  await Promise.all(starting);

  const count = async () => {
    const sql =
      'select status, count(*)::integer as count from execution where id = any($1) group by status order by status';
    return query<{ status: string; count: number }>(processes, sql, [accepted]);
  };
  await until(count, (rows) => rows.every(({ status }) => status === 'completed' || status === 'failed'), 360);
  const seconds = (performance.now() - last) / 1000;
  const [losses] = await query<{ all: number; counted: number; most: number; executions: number; workers: number }>(
    processes,
    `select count(*)::integer as all, count(*) filter (where data->>'counted' = 'true')::integer as counted,
       max((data->>'losses')::integer) as most, count(distinct topic)::integer as executions,
       (select count(*)::integer from worker where lost_at is not null) as workers
     from event where topic like 'execution:%' and data->>'reason' is not null`,
  );
  await annotate(
    `${accepted.length} answers of 202, ${kills} kills in ${Math.round((last - began) / 1000)} s; all at their end ${seconds.toFixed(1)} s after ` +
      `the last; ${losses?.workers} workers lost with ${losses?.all} losses of ${losses?.executions} executions, ${losses?.counted} counted, ` +
      `at most ${losses?.most} of one`,
  );
  expect(await count()).toEqual([{ status: 'completed', count: accepted.length }]);
  // A lost worker is recorded once; one that held nothing at that moment is, too.
  expect(losses?.workers).toBeLessThanOrEqual(kills);
  const done = await query<{ path: string; count: number }>(
    processes,
    `select path, count(*)::integer as count from step_run where status = 'completed' and execution_id = any($1)
     group by path order by path`,
    [accepted],
  );
  expect(done).toEqual(['after', 'before', 'branch'].map((path) => ({ path, count: accepted.length })));
});
