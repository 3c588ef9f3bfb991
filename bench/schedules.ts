import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { readPostgresRecord } from '../src/db/postgres.ts';
import { initialSettings } from '../src/domain/crawlers/config/crawler.schema.ts';
import { type Benchmark, check } from './benchmark.ts';
import { startServer } from './support/server.ts';
import { median } from './support/statistics.ts';

const minute = 60_000;

/** So many crawlers of an unreachable host, each with a schedule. */
const makeSql = `
  with made as (
    insert into crawler (uuid, project_id, name, domain, host, settings, created_at, updated_at)
    select gen_random_uuid(), (select min(id) from project), 'Bench', 'http://localhost:1', 'localhost:1', $1::json, now(), now()
    from generate_series(1, $2::integer) returning id)
  insert into crawler_schedule (crawler_id, name, schedule_cron_string, timezone, enabled, next_fire_at, created_at, updated_at)
  select id, 'Bench', '0 0 1 1 *', 'UTC', true, null, now(), now() from made`;

/** Many schedules come due at one minute, and each queues a run. */
export const schedules: Benchmark = {
  name: 'schedules',
  summary: 'Time from a minute to the last of a thousand runs that schedules start at it.',
  async run(bench) {
    const count = bench.scaled(1_000);
    const dataDir = path.join(await bench.directory(), 'data');
    const server = await startServer({ dataDir });
    bench.defer(server.stop);
    const record = await readPostgresRecord(dataDir);
    const client = new pg.Client({ connectionString: record?.url });
    await client.connect();
    bench.defer(() => client.end());
    await client.query(makeSql, [JSON.stringify(initialSettings()), count]);
    const started: number[] = [];
    for (let round = 0; round < bench.scaled(2); round += 1) {
      await client.query(
        `update crawler_run set status = 'canceled' where status in ('queued', 'provisioning', 'running')`,
      );
      const due = (Math.floor(Date.now() / minute) + 1) * minute;
      await client.query('update crawler_schedule set next_fire_at = $1', [new Date(due)]);
      await delay(due - Date.now());
      for (let fired = 0; fired < count; ) {
        const { rows } = await client.query(
          'select count(*)::integer as fired from schedule_fire where fire_at >= $1',
          [new Date(due)],
        );
        fired = rows[0].fired;
        check(Date.now() - due < minute, `only ${fired} of ${count} schedules have fired within a minute`);
        await delay(20);
      }
      started.push((Date.now() - due) / 1_000);
      bench.say(`${count} schedules: ${started.at(-1)?.toFixed(2)} s`);
    }
    return {
      cases: [
        {
          name: `${count} schedules of one minute, until the last has queued its run`,
          unit: 's',
          value: median(started),
          runs: started.length,
          atMost: 2,
        },
      ],
      notes: ['From the full minute; the runs begin meanwhile, and end at a host they may not reach.'],
    };
  },
};
