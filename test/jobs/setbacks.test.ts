import { beforeEach, describe, expect, it } from 'vitest';
import { sweep } from '../../src/domain/workflows/engine/sweeper.ts';
import { outliveSetbacks } from '../../src/jobs/upkeep.ts';
import { seed, shared, studio } from '../support/app.ts';
import { startExecutingApp, workflows } from '../support/workflows/executing.ts';

const hour = 3_600_000;

const app = shared(startExecutingApp);
beforeEach(async () => {
  app.clock.now = new Date('2026-03-01T08:00:00Z');
  await app.services.orm.em.fork().execute(`delete from setting where name = 'upkeep clock'`);
  await outliveSetbacks(app.services);
});

const set = (milliseconds: number) => {
  app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + milliseconds);
};

describe('after the clock was set back by an hour', () => {
  it.each([
    ['a delay', { type: 'delay', for: '10m' }],
    [
      'a wait for input',
      { type: 'wait_for_input', timeout: '10m', on_timeout: [{ id: 'late', type: 'output', value: '1' }] },
    ],
  ])('%s takes as long as it would have taken', async (_what, step) => {
    const workflow = await app.save({ portico: 'workflow/1', steps: [{ id: 'wait', ...step }] });
    const id = await app.begin(workflow);
    await app.settle();
    await app.pass(60_000);
    await app.pass(-hour);
    await app.pass(9 * 60_000 - 1);
    expect((await app.look(workflow, id)).status).not.toBe('completed');
    await app.pass(1);
    expect((await app.look(workflow, id)).status).toBe('completed');
  });

  it('a delay until a time waits for that time', async () => {
    const until = new Date((app.clock.now?.getTime() ?? 0) + 60_000).toISOString();
    const workflow = await app.save({ portico: 'workflow/1', steps: [{ id: 'wait', type: 'delay', until }] });
    const id = await app.begin(workflow);
    await app.settle();
    await app.pass(-hour);
    await app.pass(hour - 60_000);
    expect((await app.look(workflow, id)).status).toBe('running');
    await app.pass(2 * 60_000);
    expect((await app.look(workflow, id)).status).toBe('completed');
  });

  it('a timeout of an execution ends it when it would have', async () => {
    const workflow = await app.save({
      portico: 'workflow/1',
      timeout: '20m',
      steps: [{ id: 'wait', type: 'delay', for: '2h' }],
    });
    const id = await app.begin(workflow);
    await app.settle();
    await app.pass(60_000);
    await app.pass(-hour);
    await app.pass(20 * 60_000);
    expect(await app.look(workflow, id)).toMatchObject({ status: 'failed', error: { code: 'timeout' } });
  });

  it('an execution whose job was lost is taken up', async () => {
    const workflow = await app.save({ portico: 'workflow/1', steps: [{ id: 'a', type: 'output', value: '1' }] });
    const id = await app.begin(workflow);
    app.jobs.splice(0);
    set(-hour);
    await sweep(app.services, async () => true, { isWaiting: () => false, roomFor: () => 1 });
    expect(app.jobs).toEqual([id]);
    await app.settle();
    expect((await app.look(workflow, id)).status).toBe('completed');
  });

  it('a mirror, a deployment and an address block are held no longer than they would have been', async () => {
    await seed(app, { 'public/index.html': 'Site' });
    const environment = { name: 'Site', branch: 'main', provider: 'static', output_directory: 'public' };
    expect((await app.ask('POST', `${studio}/environments`, { body: environment })).status).toBe(201);
    const em = app.services.orm.em.fork();
    const execute = (sql: string) => em.execute(sql, [new Date((app.clock.now?.getTime() ?? 0) + 30_000)]);
    await execute(
      `insert into upstream (project_id, version, lease_until, created_at, updated_at, url, auth_kind, hook_secret, push)
         select id, 1, ?, now(), now(), 'https://git.test/site.git', 'none', '', 'manual' from project where machine_name = 'site'`,
    );
    await execute(`update deployment set status = 'in_progress', heartbeat_at = ?`);
    await execute(
      `insert into sign_in_throttle (key, failures, since, blocked_until, block_seconds) values ('a', 50, now(), ?, 60)`,
    );
    set(-hour);
    await outliveSetbacks(app.services);
    const [held] = await em.execute(
      'select lease_until, heartbeat_at, blocked_until from upstream, deployment, sign_in_throttle',
    );
    const until = '2026-03-01 07:00:30+00';
    expect(held).toEqual({ lease_until: until, heartbeat_at: until, blocked_until: until });
  });

  it('tokens that a step of the assistant has reserved are held no longer than they would have been', async () => {
    const em = app.services.orm.em.fork();
    await em.execute(
      `insert into assistant_reservation (id, organization_id, month, tokens, question, expires_at)
         select gen_random_uuid(), id, '2026-03', 10, 1, ? from organization where machine_name = 'acme'`,
      [new Date('2026-03-01T08:15:00Z')],
    );
    set(-hour);
    await outliveSetbacks(app.services);
    expect(await em.execute('select expires_at from assistant_reservation')).toEqual([
      { expires_at: '2026-03-01 07:15:00+00' },
    ]);
  });
});

it('a clock that goes on moves nothing', async () => {
  const workflow = await app.save({ portico: 'workflow/1', steps: [{ id: 'wait', type: 'delay', for: '10m' }] });
  const id = await app.begin(workflow);
  await app.settle();
  const waits = async () => (await app.look(workflow, id)).waiting_until;
  const before = await waits();
  for (let beat = 0; beat < 3; beat += 1) {
    set(60_000);
    await outliveSetbacks(app.services);
  }
  expect(await waits()).toBe(before);
  expect((await app.ask('GET', `${workflows}/${workflow}/executions/${id}`)).body.status).toBe('running');
});
