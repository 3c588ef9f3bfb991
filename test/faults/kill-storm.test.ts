import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { kill, type ServerProcess } from '../support/server-process.ts';
import { type Peer, startPeer } from '../support/workflows/peer.ts';
import { executionsOf, query, startProcesses, until } from '../support/workflows/processes.ts';

vi.setConfig({ testTimeout: 480_000 });

const kills = 25;
/** Executions that are begun at most, and the wait between two of them, milliseconds. */
const mostBegun = 400;
const betweenBegins = 150;
/** A kill every so often, milliseconds, as far as a worker is there by then. */
const betweenKills = 2_300;

let peer: Peer | undefined;
let answering: NodeJS.Timeout | undefined;
afterEach(async () => {
  clearInterval(answering);
  await peer?.close();
  peer = undefined;
});

test('every 202 has completed within two minutes after the last of 25 kills of workers, none is condemned and nothing is done twice', async ({
  annotate,
}) => {
  // Calls are answered one after another, so that a kill finds some under way.
  const asked = await startPeer(() => true);
  peer = asked;
  answering = setInterval(() => asked.answer(), 15);
  const processes = await startProcesses();
  const { begin } = await executionsOf(processes, {
    portico: 'workflow/1',
    permissions: ['browse_studio', 'edit_studio'],
    steps: [
      { id: 'before', type: 'http', method: 'POST', url: `${asked.url}/before` },
      { id: 'branch', type: 'operation', operation: 'studio.createBranch', with: { name: 'k-${{ execution.id }}' } },
      { id: 'after', type: 'http', method: 'POST', url: `${asked.url}/after` },
    ],
  });
  const workers: Promise<ServerProcess>[] = [1, 2, 3].map(() => processes.start('worker'));
  await Promise.all(workers);

  const accepted: string[] = [];
  let over = false;
  const sending = (async () => {
    while (!over && accepted.length < mostBegun) {
      accepted.push(...(await begin(1)));
      await setTimeout(betweenBegins);
    }
  })();
  const began = performance.now();
  for (let killed = 0; killed < kills; killed += 1) {
    await setTimeout(Math.max(0, began + (killed + 1) * betweenKills - performance.now()));
    const victim = await workers.shift();
    if (victim) await kill(victim.child);
    if (killed < kills - 1) workers.push(processes.start('worker'));
  }
  const last = performance.now();
  over = true;
  await sending;

  const count = async () => {
    const sql =
      'select status, count(*)::integer as count from execution where id = any($1) group by status order by status';
    return query<{ status: string; count: number }>(processes, sql, [accepted]);
  };
  await until(count, (rows) => rows.every(({ status }) => status === 'completed' || status === 'failed'), 240);
  const seconds = (performance.now() - last) / 1000;
  const [losses] = await query<{ all: number; counted: number; executions: number; workers: number }>(
    processes,
    `select count(*)::integer as all, count(*) filter (where data->>'counted' = 'true')::integer as counted,
       count(distinct topic)::integer as executions,
       (select count(*)::integer from worker where lost_at is not null) as workers
     from event where topic like 'execution:%' and data->>'reason' is not null`,
  );
  await annotate(
    `${accepted.length} answers of 202, ${kills} kills in ${Math.round((last - began) / 1000)} s; all at their end ${seconds.toFixed(1)} s after ` +
      `the last; ${losses?.workers} workers lost with ${losses?.all} losses of ${losses?.executions} executions, ${losses?.counted} counted`,
  );
  expect(await count()).toEqual([{ status: 'completed', count: accepted.length }]);
  expect(seconds).toBeLessThan(120);
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
