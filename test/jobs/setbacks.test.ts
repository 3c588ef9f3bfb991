import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sweep } from '../../src/domain/workflows/engine/sweeper.ts';
import { outliveSetbacks } from '../../src/jobs/upkeep.ts';
import { type ExecutingApp, startExecutingApp, workflows } from '../support/workflows/executing.ts';

const hour = 3_600_000;

let app: ExecutingApp;
beforeAll(async () => {
  app = await startExecutingApp();
});
afterAll(() => app?.stop());
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
    await sweep(app.services, async () => true);
    expect(app.jobs).toEqual([id]);
    await app.settle();
    expect((await app.look(workflow, id)).status).toBe('completed');
  });

  it('an idempotency key of a process that died is free when its lease is over, and one still held is completed', async () => {
    const claim = (key: string) =>
      app.services.idempotency.claim({
        actor: 'system:test',
        operation: 'test.operation',
        place: '',
        key,
        input: { a: 1 },
      });
    await claim('lost');
    const held = await claim('held');
    set(-hour);
    await outliveSetbacks(app.services);
    await expect(claim('lost')).rejects.toMatchObject({ code: 'busy' });
    await held?.complete({ output: 'done', etag: undefined });
    set(151_000);
    expect((await claim('lost'))?.replay).toBeNull();
    expect((await claim('held'))?.replay).toEqual({ output: 'done', etag: null });
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
