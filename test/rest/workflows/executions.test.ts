import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExecutingApp, startExecutingApp, workflows } from '../../support/workflows/executing.ts';

let app: ExecutingApp;
beforeAll(async () => {
  app = await startExecutingApp();
});
afterAll(() => app?.stop());

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
    const asked = paused.steps.find((step: { path: string }) => step.path === 'ask');
    expect(asked).toMatchObject({ status: 'waiting', input: { message: 'Go on, Ann?' }, waits_for: { kind: 'input' } });
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
