import { describe, expect, it } from 'vitest';
import { shared } from '../../support/app.ts';
import { startExecutingApp, workflows } from '../../support/workflows/executing.ts';

const app = shared(startExecutingApp);

const definition = `portico: workflow/1
steps:
  - {id: first, type: transform, expression: 'input.n'}
  - id: check
    type: condition
    expression: steps.first.output > 1
    then: [{id: big, type: transform, expression: '"big"'}]
    else: [{id: small, type: transform, expression: '"small"'}]
  - id: each
    type: for_each
    items: input.items
    concurrency: 2
    do: [{id: double, type: transform, expression: item * 2}]
  - id: both
    type: parallel
    branches:
      left: [{id: l, type: transform, expression: '"left"'}]
      right: [{id: r, type: delay, for: 1m}, {id: after, type: transform, expression: '"right"'}]
  - {id: ask, type: wait_for_input, message: 'Go on, \${{ input.who }}?', schema: {type: object, required: [ok]}}
output:
  size: \${{ steps.check.output }}
  doubled: \${{ steps.each.output }}
  both: \${{ steps.both.output }}
  ok: \${{ steps.ask.output.ok }}
`;

describe('an execution by hand', () => {
  it('goes through steps of every kind, waits for time and for a person, and ends with its result', async () => {
    const workflow = await app.save(definition);
    const id = await app.begin(workflow, { n: 2, items: [1, 2, 3], who: 'Ann' });
    expect(await app.look(workflow, id)).toMatchObject({ status: 'pending', attempt: 0, steps: [], input: { n: 2 } });
    await app.settle();
    expect(await app.look(workflow, id)).toMatchObject({
      status: 'running',
      waiting_until: '2026-03-01T08:01:00.000Z',
      version: 1,
      trigger: { id: null, type: 'manual' },
    });
    await app.pass(59_000);
    expect((await app.look(workflow, id)).status).toBe('running');
    await app.pass(1_000);
    const paused = await app.look(workflow, id);
    expect(paused).toMatchObject({ status: 'paused', finished_at: null, output: null });
    const requested = paused.steps.find((step: { path: string }) => step.path === 'ask');
    expect(requested).toMatchObject({
      status: 'waiting',
      input: { message: 'Go on, Ann?' },
      waits_for: { kind: 'input' },
    });
    const resume = (body: object) => app.ask('POST', `${workflows}/${workflow}/executions/${id}/resume`, { body });
    expect(await resume({ path: 'ask', input: {} })).toMatchObject({
      status: 422,
      body: { code: 'validation_failed' },
    });
    expect((await resume({ path: 'ask', input: { ok: 'yes' } })).status).toBe(200);
    expect((await resume({ path: 'ask', input: { ok: 'yes' } })).status).toBe(409);
    await app.settle();
    const ended = await app.look(workflow, id);
    expect(ended).toMatchObject({
      status: 'completed',
      output: { size: 'big', doubled: [2, 4, 6], both: { left: 'left', right: 'right' }, ok: 'yes' },
      error: null,
      duration_ms: 60_000,
    });
    expect(ended.steps.map(({ path }: { path: string }) => path)).toEqual([
      'first',
      'check',
      'check.then.big',
      'each',
      'each[0].double',
      'each[1].double',
      'each[2].double',
      'both',
      'both.left.l',
      'both.right.r',
      'both.right.after',
      'ask',
    ]);
    // Branches go on side by side.
    const events = (await app.events(workflow, id)).filter((event) => !event.endsWith('both.left.l'));
    expect(events).toEqual([
      'execution.created',
      'execution.started',
      'step.completed first',
      'step.started check',
      'step.completed check.then.big',
      'step.completed check',
      'step.started each',
      'step.completed each[0].double',
      'step.completed each[1].double',
      'step.completed each[2].double',
      'step.completed each',
      'step.started both',
      'step.waiting both.right.r',
      'step.completed both.right.r',
      'step.completed both.right.after',
      'step.completed both',
      'step.waiting ask',
      'execution.paused',
      'step.completed ask',
      'execution.completed',
    ]);
  });
});

describe('GET …/steps', () => {
  it('lists the step runs by pages, in their order, with their number', async () => {
    const steps = [
      { id: 'each', type: 'for_each', items: 'input', do: [{ id: 'a', type: 'transform', expression: 'item' }] },
    ];
    const workflow = await app.save({ portico: 'workflow/1', steps });
    const id = await app.begin(
      workflow,
      Array.from({ length: 120 }, (_, index) => index),
    );
    await app.settle();
    const get = (query = '') => app.ask('GET', `${workflows}/${workflow}/executions/${id}/steps${query}`);
    const whole = (await app.look(workflow, id)).steps;
    expect(whole).toHaveLength(121);
    const first = await get();
    expect([first.status, first.headers.get('x-total-count')]).toEqual([200, '121']);
    expect(first.body).toEqual(whole.slice(0, 30));
    expect((await get('?page=2&per_page=100')).body).toEqual(whole.slice(100));
    expect((await get('?page=3&per_page=100')).body).toEqual([]);
    expect((await get('?page=0')).status).toBe(400);
    expect((await app.ask('GET', `${workflows}/${workflow}/executions/${workflow}/steps`)).status).toBe(404);
  });

  it('has them all where the execution itself shows the first 1,000', async () => {
    const steps = [
      { id: 'each', type: 'for_each', items: 'input', do: [{ id: 'a', type: 'transform', expression: '1' }] },
    ];
    const workflow = await app.save({ portico: 'workflow/1', steps });
    const stepsOf = async (items: number) => {
      const id = await app.begin(
        workflow,
        Array.from({ length: items }, () => 0),
      );
      await app.settle();
      const { steps: shown, step_count } = await app.look(workflow, id);
      return { id, shown: shown.length, step_count };
    };
    expect(await stepsOf(999)).toMatchObject({ shown: 1_000, step_count: 1_000 });
    const more = await stepsOf(1_000);
    expect(more).toMatchObject({ shown: 1_000, step_count: 1_001 });
    const last = await app.ask('GET', `${workflows}/${workflow}/executions/${more.id}/steps?page=11&per_page=100`);
    expect(last.body).toMatchObject([{ path: 'each[999].a', output: 1 }]);
  });
});

describe('events', () => {
  interface ExecutionEvent {
    type: string;
    path: string | null;
    actor: string;
    status: string | null;
    duration_ms: number | null;
  }
  const eventsOf = async (workflow: string, id: string): Promise<ExecutionEvent[]> =>
    (await app.ask('GET', `${workflows}/${workflow}/executions/${id}/events`)).body;
  const lines = (events: ExecutionEvent[]) =>
    events.map(({ type, path, actor, status, duration_ms }) => [type, path, actor, status, duration_ms]);
  const waits = {
    portico: 'workflow/1',
    steps: [
      { id: 'wait', type: 'delay', for: '1m' },
      { id: 'ask', type: 'wait_for_input' },
    ],
  };
  const change = (workflow: string, id: string, what: string, body: object = {}) =>
    app.ask('POST', `${workflows}/${workflow}/executions/${id}/${what}`, { body });

  it('name who acted, what came of it and how long it took', async () => {
    const workflow = await app.save(waits);
    const id = await app.begin(workflow);
    await app.settle();
    await app.pass(60_000);
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 5_000);
    await change(workflow, id, 'resume', { path: 'ask' });
    await app.settle();
    const me = (await app.look(workflow, id)).started_by;
    const itself = `workflow:${workflow}`;
    expect(me).toEqual(expect.any(String));
    expect(lines(await eventsOf(workflow, id))).toEqual([
      ['execution.created', null, me, 'pending', null],
      ['execution.started', null, itself, 'running', null],
      ['step.waiting', 'wait', itself, 'waiting', null],
      ['step.completed', 'wait', itself, 'completed', 60_000],
      ['step.waiting', 'ask', itself, 'waiting', null],
      ['execution.paused', null, itself, 'paused', null],
      ['step.completed', 'ask', me, 'completed', 5_000],
      ['execution.completed', null, itself, 'completed', 65_000],
    ]);
  });

  it('name who cancelled one that rests, and one that is advanced', async () => {
    const workflow = await app.save(waits);
    const resting = await app.begin(workflow);
    await app.settle();
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 1_000);
    await change(workflow, resting, 'cancel');
    const { started_by: me, cancelled_by } = await app.look(workflow, resting);
    expect(cancelled_by).toBe(me);
    expect(lines(await eventsOf(workflow, resting)).slice(-2)).toEqual([
      ['step.cancelled', 'wait', me, 'cancelled', 1_000],
      ['execution.cancelled', null, me, 'cancelled', 1_000],
    ]);
    const advanced = await app.begin(workflow);
    const hold = 'update execution set driver_id = ? where id = ?';
    await app.services.orm.em.fork().execute(hold, [app.services.workflows.engine.id, advanced]);
    expect((await change(workflow, advanced, 'cancel')).body.status).toBe('pending');
    await app.services.orm.em.fork().execute('update execution set driver_id = null where id = ?', [advanced]);
    await app.settle();
    expect(lines(await eventsOf(workflow, advanced)).at(-1)).toEqual([
      'execution.cancelled',
      null,
      me,
      'cancelled',
      null,
    ]);
    await app.ask('DELETE', `${workflows}/${workflow}`);
  });
});
