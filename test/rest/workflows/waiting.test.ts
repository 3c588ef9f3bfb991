import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { sweep } from '../../../src/domain/workflows/engine/sweeper.ts';
import { seed, shared, studio } from '../../support/app.ts';
import { startExecutingApp, workflows } from '../../support/workflows/executing.ts';
import { startPeer } from '../../support/workflows/peer.ts';

const app = shared(() => startExecutingApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' }));
beforeEach(() => {
  app.clock.now = new Date('2026-03-01T08:00:00Z');
});

const flow = (steps: object[], more: object = {}) => ({ portico: 'workflow/1', steps, ...more });
const sql = <T extends object>(text: string, values: unknown[] = []) =>
  app.services.orm.em.fork().execute<T[]>(text, values);

describe('a step that waits for a crawl run', () => {
  let crawler: number;
  beforeAll(async () => {
    const at = '/api/v2/organizations/acme/projects/site/crawlers';
    const { body } = await app.ask('POST', at, { body: { domain: 'https://docs.example.com' } });
    crawler = body.id;
  });

  /** An execution that waits for a run of the crawler. */
  async function waiting(more: object = {}) {
    const step = {
      id: 'crawl',
      type: 'operation',
      operation: 'crawlers.runCrawler',
      with: { crawler: String(crawler) },
      wait: true,
    };
    const after = { id: 'after', type: 'transform', expression: 'steps.crawl.output.status' };
    const workflow = await app.save(flow([{ ...step, ...more }, after], { permissions: ['edit_crawlers'] }));
    const id = await app.begin(workflow);
    await app.settle();
    const parked = await app.look(workflow, id);
    return { workflow, id, parked, run: parked.steps[0].waits_for?.id as number };
  }
  const finish = (run: number, status: string) =>
    sql(`update crawler_run set status = ?, completed_at = now() where id = ? returning id`, [status, run]);

  it('is parked until the run has ended, and goes on with what became of it', async () => {
    const { workflow, id, parked, run } = await waiting();
    expect(parked).toMatchObject({ status: 'running', steps: [{ status: 'waiting', waits_for: { kind: 'run' } }] });
    await app.pass(2_000);
    expect((await app.look(workflow, id)).steps[0].status).toBe('waiting');
    await finish(run, 'completed');
    await app.pass(2_000);
    const ended = await app.look(workflow, id);
    expect(ended).toMatchObject({ status: 'completed', output: 'completed' });
    expect(ended.steps[0].output).toMatchObject({ id: run, status: 'completed' });
  });

  it('fails with the run', async () => {
    const { workflow, id, run } = await waiting();
    await finish(run, 'failed');
    await app.pass(2_000);
    expect(await app.look(workflow, id)).toMatchObject({
      status: 'failed',
      error: { code: 'run_failed', path: 'crawl' },
    });
  });

  it('ends with the execution’s own time', async () => {
    const { workflow, id, run } = await waiting();
    await app.pass(24 * 3_600_000);
    expect(await app.look(workflow, id)).toMatchObject({ status: 'failed', error: { code: 'timeout' } });
    await finish(run, 'completed');
  });
});

describe('a step that waits for a deployment', () => {
  it.each([
    ['success', { status: 'completed', output: 'success' }],
    ['failure', { status: 'failed', error: { code: 'deployment_failure', path: 'deploy' } }],
    ['cancelled', { status: 'failed', error: { code: 'deployment_cancelled', path: 'deploy' } }],
  ])('goes on or fails with it: %s', async (conclusion, expected) => {
    await seed(app, { 'index.html': '<p>Hi</p>' });
    const draft = { name: `Live ${conclusion}`, branch: 'main', provider: 'static' };
    const environment = (await app.ask('POST', `${studio}/environments`, { body: draft })).body.id as number;
    const step = {
      id: 'deploy',
      type: 'operation',
      operation: 'studio.startDeployment',
      with: { environment_id: environment },
      wait: true,
    };
    const after = { id: 'after', type: 'transform', expression: 'steps.deploy.output.status' };
    const workflow = await app.save(flow([step, after], { permissions: ['edit_studio'] }));
    const id = await app.begin(workflow);
    await app.settle();
    const [waiting] = (await app.look(workflow, id)).steps;
    expect(waiting).toMatchObject({ status: 'waiting', waits_for: { kind: 'deployment' } });
    const ended = `update deployment set status = 'completed', conclusion = ?, completed_at = now() where id = ? returning id`;
    await sql(ended, [conclusion, waiting.waits_for.id]);
    await app.pass(2_000);
    expect(await app.look(workflow, id)).toMatchObject(expected);
  });
});

describe('the look that is made every minute', () => {
  const idle = async () => true;
  const none = { isWaiting: () => false, roomFor: () => 10_000 };
  const simple = flow([{ id: 'a', type: 'transform', expression: '1' }]);

  it('takes up an execution whose job was lost, when no job waits any more', async () => {
    const workflow = await app.save(simple);
    const id = await app.begin(workflow);
    app.jobs.splice(0);
    await sweep(app.services, idle, none);
    // Its job may still be on the way.
    expect(app.jobs).toEqual([]);
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 31_000);
    await sweep(app.services, async () => false, none);
    expect(app.jobs).toEqual([]);
    await sweep(app.services, idle, none);
    expect(app.jobs).toEqual([id]);
    await app.settle();
    expect((await app.look(workflow, id)).status).toBe('completed');
  });

  it('finds the lost ones behind those that wait for memory here, however many these are', async () => {
    const first = await app.begin(await app.save(simple));
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 1);
    const last = await app.begin(await app.save(simple));
    app.jobs.splice(0);
    const copies = await sql<{ id: string }>(
      `insert into execution select (jsonb_populate_record(execution, jsonb_build_object('id', gen_random_uuid()))).*
       from execution, generate_series(1, 1000) where id = ? returning id`,
      [first],
    );
    const waiting = new Set([first, ...copies.map(({ id }) => id)]);
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 31_000);
    expect(await sweep(app.services, idle, { ...none, isWaiting: (id) => waiting.has(id) })).toBe(1);
    expect(app.jobs.splice(0)).toEqual([last]);
    await sql('delete from execution where workflow_id in (select workflow_id from execution where id in (?, ?))', [
      first,
      last,
    ]);
  });

  it('sends of a workflow, oldest first, what may still wait here, and goes on behind it', async () => {
    const [many, one] = [await app.save(simple), await app.save(simple)];
    const [first, last] = [await app.begin(many), await app.begin(one)];
    app.jobs.splice(0);
    const copies = await sql<{ id: string }>(
      `insert into execution select (jsonb_populate_record(execution,
         jsonb_build_object('id', gen_random_uuid(), 'created_at', created_at - number * interval '1 minute'))).*
       from execution, generate_series(1, 3500) as number where id = ? order by number desc returning id`,
      [first],
    );
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 31_000);
    const client: { executeQuery(query: { sql: unknown }): unknown } = app.services.orm.em
      .getConnection()
      .getClient() as never;
    const execute = vi.spyOn(client, 'executeQuery');
    for (const [room, pages] of [
      [0, 2],
      [1_500, 3],
    ] as const) {
      execute.mockClear();
      const roomFor = (workflow: string) => (workflow === many ? room : 1);
      expect(await sweep(app.services, idle, { ...none, roomFor })).toBe(room + 1);
      const looks = execute.mock.calls.filter(([query]) => JSON.stringify(query.sql).includes('as at from execution'));
      expect(looks).toHaveLength(pages);
      const sent = new Set(app.jobs.splice(0));
      expect(sent).toEqual(new Set([last, ...copies.slice(0, room).map(({ id }) => id)]));
    }
    execute.mockRestore();
    await sql('delete from execution where workflow_id in (?, ?)', [many, one]);
  });

  it('leaves alone what is advanced, waits for a time or a person, or is over', async () => {
    const definitions = [
      simple,
      flow([{ id: 'a', type: 'delay', for: '1h' }]),
      flow([{ id: 'a', type: 'wait_for_input' }]),
    ];
    for (const definition of definitions) await app.begin(await app.save(definition));
    await app.settle();
    const driven = await app.begin(await app.save(simple));
    app.jobs.splice(0);
    await sql(`update execution set driver_id = gen_random_uuid() where id = ? returning id`, [driven]);
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 120_000);
    await sweep(app.services, idle, none);
    expect(app.jobs).toEqual([]);
    await sql('delete from execution where id = ? returning id', [driven]);
  });

  it('hands over slots that are free', async () => {
    const workflow = await app.save(flow([{ id: 'a', type: 'wait_for_input' }], { concurrency: { limit: 1 } }));
    const first = await app.begin(workflow);
    await app.settle();
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 1);
    const second = await app.begin(workflow);
    await app.settle();
    // As if the process had died between the end of the first and handing over.
    await sql(`update execution set status = 'failed', finished_at = now() where id = ? returning id`, [first]);
    await sweep(app.services, async () => false, none);
    expect(app.jobs).toEqual([second]);
    await app.settle();
    expect((await app.look(workflow, second)).status).toBe('paused');
  });
});

it('a call under way is broken off when its execution is cancelled, and nothing comes after it', async () => {
  let closed = false;
  const peer = createServer((request) => void request.socket.on('close', () => (closed = true)));
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}/`;
  const after = { id: 'after', type: 'transform', expression: '1' };
  const on_failure = [{ id: 'note', type: 'transform', expression: '1' }];
  const workflow = await app.save(flow([{ id: 'call', type: 'http', url }, after], { on_failure }));
  const id = await app.begin(workflow);
  const settled = app.settle();
  await vi.waitFor(async () => expect((await app.look(workflow, id)).steps[0]?.status).toBe('running'), {
    timeout: 60_000,
  });
  const answer = await app.ask('POST', `${workflows}/${workflow}/executions/${id}/cancel`);
  expect(answer).toMatchObject({ status: 200, body: { status: 'running' } });
  await vi.waitFor(
    async () => {
      await app.services.workflows.engine.listen({ renew: false });
      expect(closed).toBe(true);
    },
    { timeout: 60_000 },
  );
  await settled;
  expect(await app.look(workflow, id)).toMatchObject({
    status: 'cancelled',
    cancel_reason: 'user',
    steps: [{ path: 'call', status: 'cancelled' }],
  });
  expect((await app.events(workflow, id)).slice(-2)).toEqual(['step.cancelled call', 'execution.cancelled']);
  peer.closeAllConnections();
  await new Promise((resolve) => peer.close(resolve));
});

it('an execution begins no more steps once its project is deleted, and goes on when that is restored', async () => {
  await app.pass(0);
  const peer = await startPeer(() => true);
  const call = (name: string) => ({ id: name, type: 'http', url: `${peer.url}/${name}` });
  const workflow = await app.save(flow([call('a'), call('b')]));
  const id = await app.begin(workflow);
  const settled = app.settle();
  await peer.reached(1);
  const began = performance.now();
  await sql(`update project set deleted_at = now() where machine_name = 'site' returning id`);
  await vi.waitFor(
    async () => {
      await app.services.workflows.engine.listen({ renew: false });
      // Younger drivers are not polled.
      expect(performance.now() - began).toBeGreaterThan(500);
    },
    { timeout: 60_000 },
  );
  peer.open();
  await settled;
  expect(peer.calls.map(({ path }) => path)).toEqual(['/a']);
  await sql(`update project set deleted_at = null where machine_name = 'site' returning id`);
  await app.pass(600_000);
  expect((await app.look(workflow, id)).status).toBe('completed');
  expect(peer.calls.map(({ path }) => path)).toEqual(['/a', '/b']);
  await peer.close();
});

it('a lost driver is logged once', async () => {
  const workflow = await app.save(flow([{ id: 'wait', type: 'delay', for: '1h' }]));
  const id = await app.begin(workflow);
  await app.settle();
  const died = `update execution set driver_id = gen_random_uuid() where id = ? returning id`;
  const logs = async () => (await app.events(workflow, id)).filter((type) => type === 'log').length;
  await sql(died, [id]);
  await app.pass(0);
  expect(await logs()).toBe(1);
  app.jobs.push(id);
  await app.settle();
  expect(await logs()).toBe(1);
  await app.pass(2_000);
  await sql(died, [id]);
  await app.pass(0);
  expect(await logs()).toBe(2);
});

describe('an execution that cannot be advanced', () => {
  const large = flow([
    { id: 'a', type: 'transform', expression: '[input, input]' },
    { id: 'both', type: 'transform', expression: 'steps' },
    { id: 'twice', type: 'transform', expression: 'steps' },
    { id: 'wait', type: 'delay', for: '1h' },
  ]);

  it('because what it had made is gone fails after five tries, and keeps no other from going on', async () => {
    const broken = await app.save(large);
    const id = await app.begin(broken, 'x'.repeat(400_000));
    await app.settle();
    await sql(
      `update step_run set output_sha256 = repeat('0', 64) where execution_id = ? and output_sha256 is not null returning path`,
      [id],
    );
    const other = await app.save(
      flow([
        { id: 'wait', type: 'delay', for: '1h' },
        { id: 'b', type: 'transform', expression: '2' },
      ]),
    );
    const beside = await app.begin(other);
    await app.settle();
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 3_600_000);
    for (let look = 0; look < 7; look += 1) await app.pass(120_000);
    const [row] = await sql<{ status: string; error: object }>('select status, error from execution where id = ?', [
      id,
    ]);
    expect(row).toMatchObject({ status: 'failed', error: { code: 'crashed' } });
    const [fine] = await sql<object>('select status, crashes, attempt from execution where id = ?', [beside]);
    expect(fine).toEqual({ status: 'completed', crashes: 0, attempt: 2 });
  });

  it('because its project is deleted is left alone, and goes on when that is restored', async () => {
    // The clock this test begins with lies before that of the tests above: the upkeep notices it here.
    await app.pass(0);
    const workflow = await app.save(flow([{ id: 'a', type: 'transform', expression: '1' }]));
    const id = await app.begin(workflow);
    await sql(`update project set deleted_at = now() where machine_name = 'site' returning id`);
    await app.settle();
    const standing = 'select status, driver_id, crashes, waiting_until from execution where id = ?';
    expect(await sql(standing, [id])).toMatchObject([{ status: 'pending', driver_id: null, crashes: 0 }]);
    await app.pass(60_000);
    expect(await sql('select attempt from execution where id = ?', [id])).toEqual([{ attempt: 1 }]);
    await sql(`update project set deleted_at = null where machine_name = 'site' returning id`);
    await app.pass(600_000);
    expect((await app.look(workflow, id)).status).toBe('completed');
  });
});
