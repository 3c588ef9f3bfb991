import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { claim } from '../../../src/domain/workflows/engine/lease.ts';
import { takeSlots } from '../../../src/domain/workflows/engine/slots.ts';
import { shared } from '../../support/app.ts';
import { startExecutingApp, workflows } from '../../support/workflows/executing.ts';

const app = shared(startExecutingApp);
beforeEach(() => {
  app.clock.now = new Date('2026-03-01T08:00:00Z');
});

const flow = (more: object) => ({ portico: 'workflow/1', ...more });
const transform = (id: string, expression: string, more: object = {}) => ({
  id,
  type: 'transform',
  expression,
  ...more,
});
const change = (workflow: string, id: string, what: string, body: object = {}) =>
  app.ask('POST', `${workflows}/${workflow}/executions/${id}/${what}`, { body });
const statuses = (steps: { path: string; status: string }[]) => steps.map(({ path, status }) => `${path} ${status}`);

/** Saves a definition, runs it and looks at what becomes of it. */
async function outcome(definition: object, input?: unknown) {
  const workflow = await app.save(definition);
  const id = await app.begin(workflow, input);
  await app.settle();
  return { workflow, id, ended: await app.look(workflow, id) };
}

describe('how an execution ends', () => {
  it('with the output of its last step, or of a step that says so', async () => {
    const { ended } = await outcome(flow({ steps: [transform('a', '1'), transform('b', 'steps.a.output + 1')] }));
    expect(ended).toMatchObject({ status: 'completed', output: 2, outcome: null });
    const steps = [
      { id: 'check', type: 'condition', expression: 'true', then: [{ id: 'out', type: 'output', value: '"early"' }] },
      transform('never', '1'),
    ];
    const early = await outcome(flow({ steps, output: 'no' }));
    expect(early.ended).toMatchObject({ status: 'completed', output: 'early' });
    expect(statuses(early.ended.steps)).toEqual(['check completed', 'check.then.out completed']);
  });

  it('at once, as skipped, when its condition does not hold', async () => {
    const { ended } = await outcome(flow({ when: 'input.go', steps: [transform('a', '1')] }), { go: false });
    expect(ended).toMatchObject({ status: 'completed', outcome: 'skipped', steps: [] });
  });

  it('failed, with the step and the reason, after the steps for that case', async () => {
    const on_failure = [transform('note', 'error.code & " at " & error.path')];
    const steps = [{ id: 'stop', type: 'fail', code: 'enough', message: 'No ${{ input.n }}' }];
    const { ended, workflow, id } = await outcome(flow({ steps, on_failure }), { n: 3 });
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'enough', message: 'No 3', path: 'stop' } });
    expect(ended.steps.at(-1)).toMatchObject({ path: 'on_failure.note', output: 'enough at stop' });
    expect((await app.events(workflow, id)).at(-1)).toBe('execution.failed');
  });

  it('goes on after a failed step that may fail, which is kept', async () => {
    const steps = [transform('bad', '$error("no")', { on_error: 'continue' }), transform('seen', 'steps.bad.status')];
    const { ended } = await outcome(flow({ steps }));
    expect(ended).toMatchObject({ status: 'completed', output: 'failed' });
    expect(ended.steps[0]).toMatchObject({ status: 'failed', output: null, error: { code: 'bad_expression' } });
  });

  it('skips a step whose condition does not hold', async () => {
    const { ended } = await outcome(flow({ steps: [transform('a', '1', { if: 'false' })] }));
    expect(ended).toMatchObject({ status: 'completed', output: null, steps: [{ path: 'a', status: 'skipped' }] });
  });

  it('fails when it takes longer than it may, the time it is paused left out', async () => {
    const steps = [
      { id: 'ask', type: 'wait_for_input' },
      { id: 'wait', type: 'delay', for: '2h' },
    ];
    const { workflow, id } = await outcome(flow({ steps, timeout: '1h' }));
    await app.pass(3 * 3_600_000);
    expect((await app.look(workflow, id)).status).toBe('paused');
    await change(workflow, id, 'resume', { path: 'ask' });
    await app.settle();
    await app.pass(3_599_000);
    expect((await app.look(workflow, id)).status).toBe('running');
    await app.pass(1_000);
    expect(await app.look(workflow, id)).toMatchObject({ status: 'failed', error: { code: 'timeout', path: null } });
  });

  it('keeps an output too large for a row apart, up to 25 MiB', async () => {
    const input = { text: 'x'.repeat(300_000) };
    const thrice = (id: string) => transform(id, '[input.text, input.text, input.text]');
    // A plain path: what expressions themselves make is smaller.
    const { ended, id } = await outcome(flow({ steps: [thrice('a'), thrice('b'), transform('both', 'steps')] }), input);
    expect(ended.status).toBe('completed');
    const kept = await app.services.orm.em
      .fork()
      .execute('select path, output_sha256 is null as in_row from step_run where execution_id = ? order by position', [
        id,
      ]);
    expect(kept).toEqual([
      { path: 'a', in_row: true },
      { path: 'b', in_row: true },
      { path: 'both', in_row: false },
    ]);
    expect(ended.steps[2].output.b.output).toEqual(Array(3).fill(input.text));
    expect(ended.output).toEqual(ended.steps[2].output);
    expect(ended.steps[0].output).toEqual(Array(3).fill(input.text));
  });
});

describe('POST …/executions', () => {
  it('422 for an input that is not what the definition asks for', async () => {
    const input_schema = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } };
    const workflow = await app.save(flow({ input_schema, steps: [transform('a', 'input.n')] }));
    const answer = await app.ask('POST', `${workflows}/${workflow}/executions`, { body: { input: { n: 'x' } } });
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } });
    expect(app.jobs).toEqual([]);
  });

  it('repeats its answer for the same Idempotency-Key, and works on a disabled workflow', async () => {
    const workflow = await app.save(flow({ steps: [transform('a', '1')] }));
    await app.ask('POST', `${workflows}/${workflow}/disable`);
    const run = () =>
      app.ask('POST', `${workflows}/${workflow}/executions`, {
        body: {},
        headers: { 'Idempotency-Key': `k-${workflow}` },
      });
    const [first, second] = [await run(), await run()];
    expect([first.status, second.body]).toEqual([202, first.body]);
    const { body } = await app.ask('GET', `${workflows}/${workflow}/executions?status=pending&trigger=manual`);
    expect(body).toHaveLength(1);
    await app.settle();
  });
});

describe('POST …/cancel', () => {
  it('ends one that rests at once, and refuses one that is over', async () => {
    const { workflow, id } = await outcome(flow({ steps: [{ id: 'wait', type: 'delay', for: '1h' }] }));
    expect(await change(workflow, id, 'cancel')).toMatchObject({
      status: 200,
      body: { status: 'cancelled', cancel_reason: 'user', steps: [{ path: 'wait', status: 'cancelled' }] },
    });
    expect((await change(workflow, id, 'cancel')).status).toBe(409);
    await app.pass(3_600_000);
    expect((await app.look(workflow, id)).status).toBe('cancelled');
  });

  it('ends all open ones when the workflow is deleted', async () => {
    const { workflow, id } = await outcome(flow({ steps: [{ id: 'ask', type: 'wait_for_input' }] }));
    expect((await app.ask('DELETE', `${workflows}/${workflow}`)).status).toBe(204);
    await app.pass(0);
    const [row] = await app.services.orm.em
      .fork()
      .execute('select status, cancel_reason from execution where id = ?', [id]);
    expect(row).toEqual({ status: 'cancelled', cancel_reason: 'workflow_deleted' });
    expect((await app.ask('GET', `${workflows}/${workflow}`)).status).toBe(404);
  });
});

describe('an execution that has ended', () => {
  it.each([
    ['completed', flow({ steps: [transform('a', '1')] }), async () => {}],
    ['failed', flow({ steps: [{ id: 'a', type: 'fail' }] }), async () => {}],
    [
      'cancelled',
      flow({ steps: [{ id: 'a', type: 'wait_for_input' }] }),
      async (workflow: string, id: string) => void (await change(workflow, id, 'cancel')),
    ],
  ])('as %s says so to resume and cancel', async (status, definition, end) => {
    const { workflow, id } = await outcome(definition);
    await end(workflow, id);
    const at = (await app.look(workflow, id)).finished_at;
    for (const [what, body, meaning] of [
      ['resume', { path: 'a' }, 'it takes no input'],
      ['resume', { path: 'unknown' }, 'it takes no input'],
      ['resume', {}, 'it takes no input'],
      ['resume', { path: 5 }, 'it takes no input'],
      ['cancel', {}, 'it cannot be cancelled'],
    ] as const)
      expect(await change(workflow, id, what, body)).toMatchObject({
        status: 409,
        body: { code: 'conflict', message: `The execution has ended as ${status} at ${at}: ${meaning}` },
      });
  });
});

describe('POST …/retry', () => {
  const steps = [transform('a', '$random()'), transform('b', 'input.n > 1 ? 1 : $error("small")')];

  it('does not run again what was completed', async () => {
    const { workflow, id, ended } = await outcome(flow({ steps }), { n: 1 });
    expect(ended).toMatchObject({ status: 'failed', error: { path: 'b' } });
    const { status, body } = await change(workflow, id, 'retry');
    expect(status).toBe(202);
    await app.settle();
    const again = await app.look(workflow, body.execution_id);
    expect(again).toMatchObject({ status: 'failed', retry_of: id, input: { n: 1 } });
    expect(again.steps[0].output).toBe(ended.steps[0].output);
    expect(await app.events(workflow, body.execution_id)).not.toContain('step.completed a');
  });

  it('begins at the start on request, or with the latest version', async () => {
    const { workflow, id, ended } = await outcome(flow({ steps }), { n: 1 });
    const anew = await change(workflow, id, 'retry', { from: 'start' });
    await app.settle();
    const [first] = (await app.look(workflow, anew.body.execution_id)).steps;
    expect(first.output).not.toBe(ended.steps[0].output);
    await app.ask('PATCH', `${workflows}/${workflow}`, {
      body: { definition: flow({ steps: [transform('c', '"mended"')] }) },
    });
    const latest = await change(workflow, id, 'retry', { version: 'latest' });
    await app.settle();
    expect(await app.look(workflow, latest.body.execution_id)).toMatchObject({
      status: 'completed',
      version: 2,
      output: 'mended',
    });
  });

  it('runs a version that acts with more than the published one only for who holds it', async () => {
    const steps = [{ id: 'stop', type: 'fail' }];
    const save = (permissions: string[]) => flow({ permissions, steps });
    const { workflow, id } = await outcome(save(['browse_studio', 'manage_studio']));
    await app.ask('PATCH', `${workflows}/${workflow}`, { body: { definition: save(['browse_studio']) } });
    const token = await app.makeToken(['browse_workflows', 'edit_workflows']);
    const ask = (path: string, body: object, by?: string) =>
      app.ask('POST', `${workflows}${path}`, { body, ...(by !== undefined && { token: by }) });
    const runs = `/${workflow}/executions`;
    for (const [path, body] of [
      [runs, { version: 1 }],
      [`${runs}/${id}/retry`, {}],
      [`${runs}/${id}/retry`, { from: 'start' }],
    ] as const)
      expect(await ask(path, body, token), path).toMatchObject({
        status: 403,
        body: { code: 'forbidden', message: expect.stringContaining('Version 1 acts with manage_studio') },
      });
    const { body: letters } = await ask('/dead-letters/retry', { executions: [id] }, token);
    expect(letters).toMatchObject({ retried: [], refused: [{ execution: id, code: 'forbidden' }] });
    expect((await app.look(workflow, id)).acknowledged_at).toBeNull();
    expect((await ask(runs, {}, token)).status).toBe(202);
    expect((await ask(runs, { version: 2 }, token)).status).toBe(202);
    expect((await ask(`${runs}/${id}/retry`, { version: 'latest' }, token)).status).toBe(202);
    expect((await ask(`${runs}/${id}/retry`, {})).status).toBe(202);
    expect((await ask(runs, { version: 1 })).status).toBe(202);
    // What the published version has is no more than anyone has who runs it.
    await app.ask('POST', `${workflows}/${workflow}/versions/1/publish`, { body: {} });
    expect((await ask(runs, { version: 2 }, token)).status).toBe(202);
    expect((await ask(`${runs}/${id}/retry`, {}, token)).status).toBe(202);
  });

  it('409 for one that has not failed', async () => {
    const { workflow, id } = await outcome(flow({ steps: [transform('a', '1')] }));
    expect((await change(workflow, id, 'retry')).status).toBe(409);
  });
});

describe('workflows that start workflows', () => {
  it('come to an end, however a workflow starts itself again', async () => {
    const workflow = await app.save(flow({ steps: [transform('a', '1')] }));
    const step = { id: 'again', type: 'operation', operation: 'workflows.runWorkflow', with: { workflow } };
    const definition = flow({ permissions: ['edit_workflows'], steps: [step] });
    expect((await app.ask('PATCH', `${workflows}/${workflow}`, { body: { definition } })).status).toBe(200);
    await app.begin(workflow);
    await app.settle();
    const { body } = await app.ask('GET', `${workflows}/${workflow}/executions`);
    const [failed, ...others] = body.toSorted((one: { status: string }) => (one.status === 'failed' ? -1 : 1));
    expect(others.map(({ status }: { status: string }) => status)).toEqual(Array(5).fill('completed'));
    expect((await app.look(workflow, failed.id)).error).toMatchObject({ code: 'limit_reached', path: 'again' });
    // Who tries it again does not begin anew.
    const retried = await change(workflow, failed.id, 'retry');
    await app.settle();
    expect(await app.look(workflow, retried.body.execution_id)).toMatchObject({ status: 'failed' });
  });

  it('are refused while as many executions wait as may', async () => {
    const workflow = await app.save(flow({ steps: [transform('a', '1')] }));
    app.services.workflows.limits.backlog = 0;
    const again = () => app.ask('POST', `${workflows}/${workflow}/executions`, { body: {} });
    expect(await again()).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    app.services.workflows.limits.backlog = 100_000;
    expect(await again()).toMatchObject({ status: 202 });
    await app.settle();
  });
});

describe('concurrency', () => {
  it('lets as many of a key run as it says, first come, first served', async () => {
    const workflow = await app.save(
      flow({ concurrency: { limit: 1, key: '${{ input.key }}' }, steps: [{ id: 'ask', type: 'wait_for_input' }] }),
    );
    const ids: string[] = [];
    for (const key of ['x', 'x', 'y', 'x']) {
      app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 1);
      ids.push(await app.begin(workflow, { key }));
      await app.settle();
    }
    const standing = async () =>
      (await Promise.all(ids.map((id) => app.look(workflow, id)))).map(({ status }) => status);
    expect(await standing()).toEqual(['paused', 'pending', 'paused', 'pending']);
    await change(workflow, ids[0] as string, 'resume', { path: 'ask' });
    await app.settle();
    expect(await standing()).toEqual(['completed', 'paused', 'paused', 'pending']);
    await change(workflow, ids[1] as string, 'cancel');
    await app.settle();
    expect(await standing()).toEqual(['completed', 'cancelled', 'paused', 'paused']);
  });
});

describe('concurrency of many that begin at once', () => {
  it('the first of each key run, the others wait and come in their order', async () => {
    const steps = [{ id: 'ask', type: 'wait_for_input' }];
    const workflow = await app.save(flow({ concurrency: { limit: 2, key: '${{ input.key }}' }, steps }));
    const all = Array.from({ length: 40 }, (_, at) => ({ key: ['x', 'y', 'ä\ud800'][at % 3] as string, id: '' }));
    for (const one of all) {
      app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 1);
      one.id = await app.begin(workflow, { key: one.key });
    }
    await app.settle();
    const rows = async () =>
      app.services.orm.em
        .fork()
        .execute<{ id: string; status: string; driver_id: string | null }[]>(
          'select id, status, driver_id from execution where workflow_id = ? order by id',
          [workflow],
        );
    /** Of each key, how far it has come: what is over, under way, and waiting. */
    const standing = async () => {
      const found = await rows();
      expect(found.map(({ driver_id }) => driver_id)).toEqual(all.map(() => null));
      return ['x', 'y', 'ä\ud800'].map((key) =>
        all.flatMap((one, at) => (one.key === key ? [found[at]?.status] : [])).join(' '),
      );
    };
    const as = (over: number, of: number) =>
      Array.from({ length: of }, (_, at) => (at < over ? 'completed' : at < over + 2 ? 'paused' : 'pending')).join(' ');
    expect(await standing()).toEqual([as(0, 14), as(0, 13), as(0, 13)]);
    for (const { id } of all.slice(0, 6)) await change(workflow, id, 'resume', { path: 'ask' });
    await app.settle();
    expect(await standing()).toEqual([as(2, 14), as(2, 13), as(2, 13)]);
  });

  it('a place meant for one that another process advances goes to the next', async () => {
    const steps = [{ id: 'ask', type: 'wait_for_input' }];
    const workflow = await app.save(flow({ concurrency: { limit: 1 }, steps }));
    const first = await app.begin(workflow);
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 1);
    const second = await app.begin(workflow);
    app.jobs.splice(0);
    const em = app.services.orm.em.fork();
    const rows = await claim(em, randomUUID(), [first, second], { suspects: null });
    const requested = rows
      .map(({ id, project_id, workflow_id, attempt }) => ({
        lease: { id, project_id, workflow_id, attempt: id === first ? attempt - 1 : attempt },
        key: '',
        most: 1,
      }))
      .sort((a, b) => (a.lease.id < b.lease.id ? -1 : 1));
    expect(await em.transactional((within) => takeSlots(within, app.services, requested))).toEqual(['lost', 'queued']);
    expect(app.jobs).toEqual([second]);
  });
});

describe('a driver that is taken over', () => {
  it('writes nothing more; after five in a row that died, the execution has failed', async () => {
    const { workflow, id } = await outcome(flow({ steps: [{ id: 'wait', type: 'delay', for: '1h' }] }));
    const sql = (text: string) => app.services.orm.em.fork().execute(text, [id]);
    const died = `update execution set driver_id = gen_random_uuid() where id = ?`;
    for (let crash = 1; crash < 5; crash += 1) {
      await sql(died);
      await app.pass(0);
      // Each loss is followed by a longer wait.
      await app.pass(120_000);
      expect((await app.look(workflow, id)).status).toBe('running');
    }
    await sql(died);
    await app.pass(0);
    expect(await app.look(workflow, id)).toMatchObject({
      status: 'failed',
      error: { code: 'crashed' },
      steps: [{ path: 'wait', status: 'cancelled' }],
    });
  });

  it('is left to its driver until that counts as lost, and keeps signals for it', async () => {
    const { workflow, id } = await outcome(flow({ steps: [{ id: 'wait', type: 'delay', for: '1h' }] }));
    const sql = (text: string) => app.services.orm.em.fork().execute(text, [id]);
    await sql(`update execution set driver_id = gen_random_uuid() where id = ?`);
    app.jobs.push(id);
    await app.settle();
    expect(await sql('select wake, attempt from execution where id = ?')).toEqual([{ wake: true, attempt: 1 }]);
    expect(await change(workflow, id, 'cancel')).toMatchObject({ status: 200, body: { status: 'running' } });
  });
});
