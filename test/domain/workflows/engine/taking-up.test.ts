import { beforeAll, expect, it, vi } from 'vitest';
import { shared } from '../../../support/app.ts';
import { call, newWebhook } from '../../../support/webhook.ts';
import { startExecutingApp, workflows } from '../../../support/workflows/executing.ts';

const app = shared(startExecutingApp);
const webhook = shared(() => newWebhook(app));
beforeAll(() =>
  app.ask('PATCH', `${workflows}/${webhook.workflow}`, {
    body: { definition: 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: input.body.n}\n' },
  }),
);

/** Calls the webhook. @returns ids of the executions that wait to be taken up */
async function callWith(numbers: readonly number[]): Promise<string[]> {
  const headers = { authorization: `Bearer ${webhook.secret}`, 'content-type': 'application/json' };
  const answers = await Promise.all(
    numbers.map((n) => call(app.url, webhook.endpoint, { headers, body: JSON.stringify({ n }) })),
  );
  expect(answers.map(({ status }) => status)).toEqual(numbers.map(() => 202));
  return answers.map(({ body }) => body.executionId);
}

const outputsOf = (ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await app.look(webhook.workflow, id)).output));

it('executions that are taken up together have what they were started with read in one query', async () => {
  const numbers = [1, 2, 3, 4, 5];
  const ids = await callWith(numbers);
  const execute = vi.spyOn(app.services.orm.em.getConnection(), 'execute');
  await app.services.workflows.engine.advance(ids);
  const reads = execute.mock.calls.map(([sql]) => String(sql)).filter((sql) => /from "?delivery"? /.test(sql));
  execute.mockRestore();
  await app.services.workflows.engine.idle();
  expect(reads).toHaveLength(1);
  expect(await outputsOf(ids)).toEqual(numbers);
});

it('one whose input cannot be read keeps no other', async () => {
  const ids = await callWith([1, 2, 3]);
  await app.services.orm.em
    .fork()
    .execute(`update delivery set body = 'x', raw_size = 9 where execution_id = ?`, [ids[1]]);
  await app.services.workflows.engine.advance(ids);
  await app.services.workflows.engine.idle();
  const [first, , third] = await outputsOf(ids);
  expect([first, third]).toEqual([1, 3]);
  expect(app.log.some((line) => line.includes('could not be advanced') && line.includes(String(ids[1])))).toBe(true);
});
