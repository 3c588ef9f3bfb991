import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workflowAdvanceJobFor } from '../../../src/jobs/job-handlers.ts';
import type { Expressions } from '../../../src/ports/expressions.ts';
import { shared } from '../../support/app.ts';
import { startExecutingApp, workflows } from '../../support/workflows/executing.ts';

const app = shared(() => startExecutingApp({ PORTICO_DATABASE_POOL: '2' }));
let real: Expressions;
beforeAll(async () => {
  real = app.services.expressions;
});
afterAll(async () => {
  app.services.expressions = real;
});

/** Expressions that answer schemas only after another request has been served. */
function servingMeanwhile(served: number[]): Expressions {
  const expressions: Expressions = {
    ...real,
    of: () => expressions,
    async validate() {
      served.push((await app.ask('GET', workflows)).status);
      return [];
    },
  };
  return expressions;
}

describe('schemas that take long to check', () => {
  const schema = { type: 'string' };

  it('hold no connection of the database while an execution is begun', async () => {
    const workflow = await app.save({
      portico: 'workflow/1',
      input_schema: schema,
      steps: [{ id: 'a', type: 'transform', expression: '1' }],
    });
    const served: number[] = [];
    app.services.expressions = servingMeanwhile(served);
    const begun = await Promise.all(Array.from({ length: 4 }, () => app.begin(workflow, 'text')));
    expect(begun).toHaveLength(4);
    expect(served).toEqual([200, 200, 200, 200]);
    app.services.expressions = real;
    await app.settle();
  });

  it('refuse an input for which they never end', async () => {
    const workflow = await app.save({
      portico: 'workflow/1',
      input_schema: { pattern: '^(a+)+$' },
      steps: [{ id: 'a', type: 'transform', expression: '1' }],
    });
    const body = { input: `${'a'.repeat(40)}!` };
    const { status, body: answer } = await app.ask('POST', `${workflows}/${workflow}/executions`, { body });
    expect([status, answer.message]).toEqual([422, 'input: cannot be checked by the schema: took too long']);
  });

  it('hold none while a step is answered', async () => {
    const workflow = await app.save({
      portico: 'workflow/1',
      steps: [{ id: 'a', type: 'wait_for_input', message: 'Go on?', schema }],
    });
    const ids = [await app.begin(workflow), await app.begin(workflow), await app.begin(workflow)];
    await app.settle();
    const served: number[] = [];
    app.services.expressions = servingMeanwhile(served);
    const answers = await Promise.all(
      ids.map((id) =>
        app.ask('POST', `${workflows}/${workflow}/executions/${id}/resume`, { body: { path: 'a', input: 'yes' } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(served).toEqual([200, 200, 200]);
    app.services.expressions = real;
    await app.settle();
  });
});

it('stops evaluating when an execution is cancelled', async () => {
  const endless = '($f := function($n){ $f($n + 1) }; $f(1))';
  const workflow = await app.save({
    portico: 'workflow/1',
    steps: [{ id: 'a', type: 'transform', expression: endless, timeout: '60s' }],
  });
  const id = await app.begin(workflow);
  await workflowAdvanceJobFor(app.services).handleAll(app.jobs.splice(0).map((execution_id) => ({ execution_id })));
  const { engine } = app.services.workflows;
  let isOver = false;
  const over = engine.idle().then(() => {
    isOver = true;
  });
  expect((await app.ask('POST', `${workflows}/${workflow}/executions/${id}/cancel`)).status).toBe(200);
  while (!isOver) await engine.listen({ renew: false });
  await over;
  expect(await app.look(workflow, id)).toMatchObject({
    status: 'cancelled',
    steps: [{ path: 'a', status: 'cancelled' }],
  });
}, 20_000);

it('lets other executions begin beside hundreds whose expressions are slow', async () => {
  const slow = await app.save({ portico: 'workflow/1', steps: [{ id: 'a', type: 'transform', expression: '1 + 1' }] });
  const quick = await app.save({ portico: 'workflow/1', steps: [{ id: 'a', type: 'transform', expression: 'input' }] });
  const end = new AbortController();
  const expressions: Expressions = {
    ...real,
    of: () => expressions,
    evaluate: () => new Promise((resolve) => end.signal.addEventListener('abort', () => resolve(2))),
  };
  app.services.expressions = expressions;
  const { engine } = app.services.workflows;
  for (let n = 0; n < 402; n += 1) await app.begin(slow);
  await engine.advance(app.jobs.splice(0));
  const id = await app.begin(quick, 'text');
  let isTaken = false;
  const taken = engine.advance(app.jobs.splice(0)).then(() => {
    isTaken = true;
  });
  while (!isTaken) await engine.listen({ renew: false });
  await taken;
  while ((await app.look(quick, id)).status !== 'completed') await engine.listen({ renew: false });
  end.abort();
  await engine.idle();
  app.services.expressions = real;
  await app.settle();
}, 60_000);
