import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { kill } from '../support/server-process.ts';
import { type Processes, query, startProcesses, until } from '../support/workflows/processes.ts';

vi.setConfig({ testTimeout: 240_000 });

const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: input.scheduled_for}\n';

/** Keeps executions from being written, wherever a transaction is by then. @returns how to let them go on */
async function holdExecutions({ databaseUrl }: Processes): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('begin');
  await client.query('lock table execution in share mode');
  return async () => {
    await client.query('commit');
    await client.end();
  };
}

test('each time of a cron trigger begins one execution, however many workers look and whichever is killed or frozen at it', async () => {
  const processes = await startProcesses();
  const { web, ask, start } = processes;
  const triggers: string[] = [];
  for (const name of ['One', 'Two', 'Three']) {
    const { id } = await ask(web, 'POST', '', { name, definition });
    const cron = { type: 'cron', schedule_cron_string: '* * * * *' };
    for (let n = 0; n < 5; n += 1) triggers.push((await ask(web, 'POST', `/${id}/triggers`, cron)).id as string);
  }
  await query(processes, `update workflow_trigger set next_fire_at = date_trunc('minute', now())`);
  const fired = () =>
    query<{ trigger_id: string; at: string; count: number }>(
      processes,
      `select trigger_id, input->>'scheduled_for' as at, count(*)::int as count from execution group by 1, 2`,
    );
  const heldUp = () =>
    query(
      processes,
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike '%insert into%execution%'`,
    );

  // Both workers look as they start. Neither comes to its end: one dies of it, the other sleeps over it.
  const letGo = await holdExecutions(processes);
  const workers = await Promise.all([start('worker'), start('worker')]);
  await until(heldUp, (held) => held.length > 0, 90);
  await kill(workers[0].child);
  workers[1].child.kill('SIGSTOP');
  const third = await start('worker');
  await letGo();
  workers[1].child.kill('SIGCONT');

  const all = await until(
    fired,
    (rows) => new Set(rows.map(({ trigger_id }) => trigger_id)).size === triggers.length,
    150,
  );
  expect(all.filter(({ count }) => count !== 1)).toEqual([]);
  // A process that starts later finds nothing left of these times.
  const times = new Set(all.map(({ at }) => at));
  await third.stop('SIGTERM');
  const fourth = await start('worker');
  expect((await fourth.stop('SIGTERM')).code).toBe(0);
  const later = (await fired()).filter(({ at }) => times.has(at));
  expect(later.filter(({ count }) => count !== 1)).toEqual([]);
});
