import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Crawler } from '../../../src/domain/crawlers/config/crawler.entity.ts';
import { CrawlerRun } from '../../../src/domain/crawlers/runs/crawler-run.entity.ts';
import { queueRun } from '../../../src/domain/crawlers/runs/queue-run.ts';
import { crawlerScheduleSource } from '../../../src/domain/crawlers/schedules/crawler-schedule-source.ts';
import { dispatchSchedules } from '../../../src/domain/schedules/dispatch.ts';
import { outliveSetbacks } from '../../../src/jobs/upkeep.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';

const minute = 60_000;
const hour = 60 * minute;
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'docs.test' }));
let project: number;

const sql = <T>(text: string, params: unknown[] = []): Promise<T[]> =>
  app.services.orm.em.fork().execute(text, params as never);
const dispatch = () => dispatchSchedules(app.services, crawlerScheduleSource);
const at = (text: string) => {
  app.clock.now = new Date(text);
};

interface Fire {
  fire_at: Date;
  outcome: string;
  started_id: string | null;
  missed: number;
}
const fires = async (id: number) =>
  (
    await sql<Fire>('select fire_at, outcome, started_id, missed from schedule_fire where source_id = ? order by id', [
      String(id),
    ])
  ).map((fire) => ({ ...fire, fire_at: new Date(fire.fire_at) }));
const runs = (schedule: number) =>
  app.services.orm.em.fork().find(CrawlerRun, { schedule_id: schedule }, { orderBy: { id: 'asc' } });
const endRuns = () =>
  sql(`update crawler_run set status = 'completed' where status in ('queued', 'provisioning', 'running')`);

const base = `${acme}/projects/site/crawlers`;
async function crawlerWith(
  cron: string,
  settings: object = {},
): Promise<{ crawler: number; schedule: number; path: string }> {
  const { body: crawler } = await app.ask('POST', base, { body: { domain: 'docs.test', ...settings } });
  const { body } = await app.ask('POST', `${base}/${crawler.id}/schedules`, { body: { schedule_cron_string: cron } });
  return { crawler: crawler.id, schedule: body.id, path: `${base}/${crawler.id}/schedules/${body.id}` };
}

const manyCrawlers = (count: number) =>
  sql(
    `insert into crawler (uuid, project_id, name, domain, host, settings, created_at, updated_at)
     select gen_random_uuid(), ?, 'c', 'docs.test', 'docs.test', ?::json, now(), now() from generate_series(1, ${count})`,
    [project, JSON.stringify({ urls: [], start_urls: ['/'], sitemap: [] })],
  );

beforeAll(async () => {
  app.services.jobs.send = async () => {};
  app.services.jobs.sendMany = async () => {};
  const [row] = await sql<{ id: number }>(`select id from project where machine_name = 'site'`);
  project = row?.id ?? 0;
});
beforeEach(async () => {
  await sql('delete from crawler');
  await sql('delete from schedule_fire');
});

describe('a schedule that is due', () => {
  it('starts a run, and is due again at its next time', async () => {
    at('2026-03-01T08:00:30Z');
    const { schedule, path } = await crawlerWith('0 * * * *');
    at('2026-03-01T08:59:59.999Z');
    expect(await dispatch()).toBe(0);
    at('2026-03-01T09:00:00Z');
    expect(await dispatch()).toBe(1);
    expect(await dispatch()).toBe(0);
    const [run] = await runs(schedule);
    expect(run).toMatchObject({ status: 'queued', trigger: 'schedule', fire_at: new Date('2026-03-01T09:00:00Z') });
    const { body } = await app.ask('GET', path);
    expect(body).toMatchObject({
      crawler_last_run_id: run?.id,
      next_runs: expect.arrayContaining(['2026-03-01T10:00:00.000Z']),
    });
    const listed = await app.ask('GET', `${path}/fires`);
    expect(listed.body).toEqual([
      {
        fire_at: '2026-03-01T09:00:00.000Z',
        outcome: 'started',
        run_id: run?.id,
        missed: 0,
        created_at: '2026-03-01T09:00:00.000Z',
      },
    ]);
  });

  it('names its newest run no longer than that is kept', async () => {
    at('2026-03-01T08:00:30Z');
    const { crawler, path } = await crawlerWith('0 * * * *');
    at('2026-03-01T09:00:00Z');
    await dispatch();
    const shown = async () => [
      (await app.ask('GET', path)).body,
      ...(await app.ask('GET', path.replace(/\/\d+$/, ''))).body,
    ];
    const [one, listed] = await shown();
    expect(one.crawler_last_run_id).toBeGreaterThan(0);
    expect(listed).toEqual(one);
    await sql('delete from crawler_run where crawler_id = ?', [crawler]);
    // The interface has a number there, and none stands for no run.
    const gone = { ...one, crawler_last_run_id: 0 };
    expect(await shown()).toEqual([gone, gone]);
    const { body } = await app.ask('PATCH', path, { body: { schedule_cron_string: '0 * * * *' } });
    expect(body).toMatchObject({ crawler_last_run_id: 0 });
  });

  it('is passed over while it is off, and when its crawler or project is deleted', async () => {
    at('2026-03-01T08:00:30Z');
    const off = await crawlerWith('0 * * * *');
    await app.ask('PATCH', off.path, { body: { schedule_cron_string: '0 * * * *', enabled: false } });
    const gone = await crawlerWith('0 * * * *');
    await app.ask('DELETE', `${base}/${gone.crawler}`);
    const elsewhere = await crawlerWith('0 * * * *');
    await sql('update project set deleted_at = now() where id = ?', [project]);
    at('2026-03-01T09:00:00Z');
    expect(await dispatch()).toBe(0);
    await sql('update project set deleted_at = null where id = ?', [project]);
    expect(await dispatch()).toBe(1);
    expect(await fires(elsewhere.schedule)).toHaveLength(1);
    expect([...(await fires(off.schedule)), ...(await fires(gone.schedule))]).toEqual([]);
  });
});

describe('downtime', () => {
  it('ends with one late run for the newest time within the grace', async () => {
    at('2026-03-01T08:00:00Z');
    const { schedule } = await crawlerWith('30 * * * *');
    at('2026-03-01T12:29:59Z');
    expect(await dispatch()).toBe(1);
    expect(await fires(schedule)).toEqual([
      { fire_at: new Date('2026-03-01T11:30:00Z'), outcome: 'started', started_id: expect.any(String), missed: 3 },
    ]);
    expect(await runs(schedule)).toHaveLength(1);
  });

  it.each([
    ['2026-03-02T07:00:00.000Z', 'started', 1],
    ['2026-03-02T07:00:00.001Z', 'missed', 0],
  ])('at %s an hour after a time ends %s', async (now, outcome, started) => {
    at('2026-03-01T08:00:00Z');
    const { schedule, path } = await crawlerWith('0 6 * * *', { webhook_url: 'https://hooks.test/' });
    at(now);
    await dispatch();
    expect(await fires(schedule)).toMatchObject([{ fire_at: new Date('2026-03-02T06:00:00Z'), outcome, missed: 0 }]);
    expect(await runs(schedule)).toHaveLength(started);
    expect((await app.ask('GET', path)).body.next_runs[0]).toBe('2026-03-03T06:00:00.000Z');
    const notifications = await sql<{ type: string; payload: string }>('select type, payload from notification');
    expect(notifications.map(({ type }) => type)).toEqual(started ? [] : ['crawler.run.skipped']);
    if (notifications[0])
      expect(JSON.parse(notifications[0].payload).data.schedule).toEqual({
        id: schedule,
        name: 'Schedule docs.test',
        fire_at: '2026-03-02T06:00:00.000Z',
        reason: 'missed',
        missed: 0,
      });
  });

  it('of a year is counted up to a thousand', async () => {
    at('2026-03-01T08:00:00Z');
    const { schedule } = await crawlerWith('* * * * *');
    at('2027-03-01T08:00:30Z');
    await dispatch();
    expect(await fires(schedule)).toMatchObject([
      { fire_at: new Date('2027-03-01T08:00:00Z'), outcome: 'started', missed: 1_000 },
    ]);
  });
});

describe('overlap', () => {
  it.each(['queued', 'provisioning', 'running'])(
    'with a run that is %s starts none, and sends a notification',
    async (status) => {
      at('2026-03-01T08:00:00Z');
      const { crawler, schedule, path } = await crawlerWith('0 * * * *', { webhook_url: 'https://hooks.test/' });
      await app.services.orm.em.fork().transactional(async (em) => {
        const row = await em.findOneOrFail(Crawler, { id: crawler });
        await queueRun(em, app.services, row, { trigger: 'api' });
      });
      await sql('update crawler_run set status = ? where crawler_id = ?', [status, crawler]);
      at('2026-03-01T09:00:00Z');
      await dispatch();
      expect(await fires(schedule)).toMatchObject([{ outcome: 'skipped_overlap', started_id: null }]);
      expect(await runs(schedule)).toEqual([]);
      expect((await app.ask('GET', path)).body.crawler_last_run_id).toBe(0);
      const notifications = await sql<{ payload: string }>(
        `select payload from notification where type = 'crawler.run.skipped'`,
      );
      expect(notifications.map(({ payload }) => JSON.parse(payload).data.schedule.reason)).toEqual(['overlap']);
      await endRuns();
      at('2026-03-01T10:00:00Z');
      await dispatch();
      expect(await fires(schedule)).toMatchObject([{ outcome: 'skipped_overlap' }, { outcome: 'started' }]);
    },
  );

  it('of two schedules of one crawler at the same minute starts one run', async () => {
    at('2026-03-01T08:00:00Z');
    const { crawler, schedule } = await crawlerWith('0 9 * * *');
    const { body: other } = await app.ask('POST', `${base}/${crawler}/schedules`, {
      body: { schedule_cron_string: '0 * * * *' },
    });
    at('2026-03-01T09:00:00Z');
    expect(await dispatch()).toBe(2);
    const outcomes = [...(await fires(schedule)), ...(await fires(other.id))].map(({ outcome }) => outcome);
    expect(outcomes.toSorted()).toEqual(['skipped_overlap', 'started']);
  });
});

describe('an edit', () => {
  it('while it is due counts from the edit on', async () => {
    at('2026-03-01T08:00:00Z');
    const { schedule, path } = await crawlerWith('0 * * * *');
    at('2026-03-01T09:00:10Z');
    await app.ask('PATCH', path, { body: { schedule_cron_string: '30 * * * *' } });
    expect(await dispatch()).toBe(0);
    at('2026-03-01T09:30:00Z');
    expect(await dispatch()).toBe(1);
    expect(await fires(schedule)).toMatchObject([{ fire_at: new Date('2026-03-01T09:30:00Z'), missed: 0 }]);
  });

  it('of the name alone leaves what is due', async () => {
    at('2026-03-01T08:00:00Z');
    const { path } = await crawlerWith('0 * * * *');
    at('2026-03-01T09:00:10Z');
    await app.ask('PATCH', path, { body: { schedule_cron_string: '0 * * * *', name: 'Other' } });
    expect(await dispatch()).toBe(1);
  });
});

it('fires no time twice when the clock is set back', async () => {
  at('2026-03-01T08:00:00Z');
  const { schedule, path } = await crawlerWith('0 * * * *');
  at('2026-03-01T09:00:00Z');
  await dispatch();
  await endRuns();
  at('2026-03-01T08:30:00Z');
  expect(await dispatch()).toBe(0);
  // Off and on again: the same time is due once more.
  for (const enabled of [false, true])
    await app.ask('PATCH', path, { body: { schedule_cron_string: '0 * * * *', enabled } });
  at('2026-03-01T09:00:00Z');
  expect(await dispatch()).toBe(1);
  expect(await runs(schedule)).toHaveLength(1);
  at('2026-03-01T10:00:00Z');
  expect(await dispatch()).toBe(1);
  expect(await runs(schedule)).toHaveLength(2);
});

describe('after the clock was set back', () => {
  const minutes = (from: string, to: string) => {
    const [first, last] = [from, to].map((time) => Date.parse(`2026-03-01T${time}:00Z`)) as [number, number];
    return Array.from({ length: (last - first) / minute + 1 }, (_, index) => new Date(first + index * minute));
  };
  /** What a worker does at full minutes. @returns how many fires it dispatched */
  const beats = async (...times: Date[]) => {
    let count = 0;
    for (const time of times) {
      app.clock.now = time;
      count += await dispatch();
      if (await outliveSetbacks(app.services)) count += await dispatch();
      await endRuns();
    }
    return count;
  };
  const timesOf = async (schedule: number) => (await runs(schedule)).map(({ fire_at }) => fire_at);
  beforeEach(() => sql(`delete from setting where name = 'upkeep clock'`));

  it('by an hour that it had jumped ahead, a schedule misses no time, and fires none twice', async () => {
    at('2026-03-01T08:59:30Z');
    const { schedule } = await crawlerWith('* * * * *');
    const [before, ahead, after] = [minutes('09:00', '09:02'), minutes('10:03', '10:03'), minutes('09:04', '10:05')];
    await beats(...before, ...ahead);
    // The very minute in which the setback is noticed, too.
    expect(await beats(...after.slice(0, 1))).toBe(1);
    await beats(...after.slice(1));
    const others = after.filter((time) => time.getTime() !== ahead[0]?.getTime());
    expect(await timesOf(schedule)).toEqual([...before, ...ahead, ...others]);
  });

  it('times that were fired are not fired again', async () => {
    at('2026-03-01T08:59:30Z');
    const { schedule } = await crawlerWith('*/5 * * * *');
    await beats(...minutes('09:00', '09:30'));
    const fired = await timesOf(schedule);
    expect(fired).toHaveLength(7);
    // They come again, and start nothing.
    expect(await beats(...minutes('09:01', '09:34'))).toBe(6);
    expect(await timesOf(schedule)).toEqual(fired);
    expect(await fires(schedule)).toHaveLength(7);
    await beats(...minutes('09:35', '09:35'));
    expect(await timesOf(schedule)).toEqual([...fired, new Date('2026-03-01T09:35:00Z')]);
  });

  it('a daily time is fired that came before the setback was noticed', async () => {
    at('2026-03-01T10:01:30Z');
    const { schedule } = await crawlerWith('3 9 * * *');
    await beats(...minutes('10:02', '10:02'));
    await beats(new Date('2026-03-01T09:03:01Z'));
    expect(await timesOf(schedule)).toEqual(minutes('09:03', '09:03'));
  });

  it('a time is fired that was written down as missed while the clock was ahead', async () => {
    at('2026-03-01T07:59:30Z');
    const { schedule } = await crawlerWith('0 10 * * *');
    await beats(...minutes('08:00', '08:00'), ...minutes('13:01', '13:02'));
    expect(await fires(schedule)).toMatchObject([{ outcome: 'missed', started_id: null }]);
    await beats(...minutes('08:03', '08:03'), ...minutes('10:00', '10:01'));
    const [run] = await runs(schedule);
    expect(await fires(schedule)).toEqual([
      { fire_at: new Date('2026-03-01T10:00:00Z'), outcome: 'started', started_id: String(run?.id), missed: 0 },
    ]);
    expect(await timesOf(schedule)).toEqual(minutes('10:00', '10:00'));
  });

  it('a time that was skipped is not fired late', async () => {
    at('2026-03-01T08:59:30Z');
    const { crawler, schedule } = await crawlerWith('0 * * * *');
    await app.services.orm.em.fork().transactional(async (em) => {
      await queueRun(em, app.services, await em.findOneOrFail(Crawler, { id: crawler }), { trigger: 'api' });
    });
    await beats(...['09:00:01', '09:00:50', '09:00:30'].map((time) => new Date(`2026-03-01T${time}Z`)));
    expect(await fires(schedule)).toMatchObject([{ outcome: 'skipped_overlap' }]);
    expect(await runs(schedule)).toEqual([]);
  });

  it('a schedule that is faulty, or off, keeps its time, and the others go on', async () => {
    at('2026-03-01T08:59:30Z');
    const [bad, off, good] = [
      await crawlerWith('0 * * * *'),
      await crawlerWith('0 * * * *'),
      await crawlerWith('0 * * * *'),
    ];
    await beats(...minutes('10:30', '10:30'));
    await sql(`update crawler_schedule set timezone = 'Mars/Olympus' where id = ?`, [bad.schedule]);
    await sql('update crawler_schedule set enabled = false where id = ?', [off.schedule]);
    await beats(...minutes('09:30', '09:30'));
    const next = await sql<{ id: number; next_fire_at: string }>(
      'select id, next_fire_at from crawler_schedule order by id',
    );
    expect(next.map(({ id, next_fire_at }) => [id, new Date(next_fire_at).toISOString().slice(11, 16)])).toEqual([
      [bad.schedule, '11:00'],
      [off.schedule, '11:00'],
      [good.schedule, '10:00'],
    ]);
    expect(app.log.some((line) => line.includes('a schedule keeps its next time'))).toBe(true);
  });

  it('hundreds of schedules go on', async () => {
    await beats(...minutes('10:30', '10:30'));
    await manyCrawlers(250);
    await sql(
      `insert into crawler_schedule (crawler_id, name, schedule_cron_string, timezone, enabled, next_fire_at, created_at, updated_at)
       select id, 's', '0 * * * *', 'UTC', true, timestamptz '2026-03-01T11:00:00Z', now(), now() from crawler`,
    );
    await beats(...minutes('09:30', '09:30'));
    expect(
      await sql(`select 1 from crawler_schedule where next_fire_at = timestamptz '2026-03-01T10:00:00Z'`),
    ).toHaveLength(250);
  });
});

it('fires the others when one cannot be fired', async () => {
  at('2026-03-01T08:00:00Z');
  const [bad, good] = [await crawlerWith('0 * * * *'), await crawlerWith('0 * * * *')];
  await sql(`update crawler_schedule set timezone = 'Mars/Olympus' where id = ?`, [bad.schedule]);
  at('2026-03-01T09:00:00Z');
  expect(await dispatch()).toBe(1);
  expect(await runs(good.schedule)).toHaveLength(1);
  expect(await fires(bad.schedule)).toEqual([]);
  expect(app.log.some((line) => line.includes('a schedule was not fired'))).toBe(true);
});

it('queues the runs of a hundred schedules in few statements', async () => {
  at('2026-03-01T08:00:00Z');
  await manyCrawlers(100);
  await sql(
    `insert into crawler_schedule (crawler_id, name, schedule_cron_string, timezone, enabled, next_fire_at, created_at, updated_at)
     select id, 's', '0 * * * *', 'UTC', true, timestamptz '2026-03-01T09:00:00Z', now(), now() from crawler`,
  );
  at('2026-03-01T09:00:00Z');
  const execute = vi.spyOn(app.services.orm.em.getConnection(), 'execute');
  try {
    expect(await dispatch()).toBe(100);
    expect(execute.mock.calls.length).toBeLessThan(40);
  } finally {
    execute.mockRestore();
  }
  expect(await sql(`select 1 from crawler_run where trigger = 'schedule' and status = 'queued'`)).toHaveLength(100);
});

it('fires each time of a thousand schedules exactly once from two dispatchers', async () => {
  at('2026-03-01T00:00:00Z');
  // Times of every schedule: its own minute, each second hour.
  await manyCrawlers(1_000);
  await sql(
    `insert into crawler_schedule (crawler_id, name, schedule_cron_string, timezone, enabled, next_fire_at, created_at, updated_at)
     select id, 's', '0 ' || (id % 4) * 6 || ' * * *', 'UTC', true,
       timestamptz '2026-03-01T00:00:00Z' + make_interval(hours => (id % 4) * 6), now(), now() from crawler`,
  );
  const began = Date.parse('2026-03-01T00:00:00Z');
  let total = 0;
  for (let now = began; now < began + 2 * 24 * hour; now += 6 * hour) {
    app.clock.now = new Date(now);
    const [one, two] = await Promise.all([dispatch(), dispatch()]);
    total += one + two;
    await endRuns();
  }
  expect(total).toBe(2_000);
  const [count] = await sql<{ fires: string; runs: string; days: string; outcomes: string }>(`
    select count(*) as fires, count(distinct started_id) as runs, count(distinct (source_id, fire_at)) as days,
      string_agg(distinct outcome, ' ') as outcomes from schedule_fire`);
  expect(count).toEqual({ fires: '2000', runs: '2000', days: '2000', outcomes: 'started' });
  expect(await sql('select 1 from crawler_run')).toHaveLength(2_000);
});
