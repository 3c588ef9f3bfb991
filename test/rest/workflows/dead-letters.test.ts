import { beforeEach, describe, expect, it } from 'vitest';
import { pruneExecutions } from '../../../src/domain/workflows/executions/prune-executions.ts';
import { metricsToken, shared } from '../../support/app.ts';
import { startExecutingApp, workflows } from '../../support/workflows/executing.ts';

const app = shared(startExecutingApp);
beforeEach(async () => {
  app.clock.now = new Date('2026-03-01T08:00:00Z');
  await app.services.orm.em.fork().execute('delete from execution');
});

const letters = `${workflows}/dead-letters`;
/** Fails until its input is not small any more; counts nothing, so that retries of it fail again. */
const definition = {
  portico: 'workflow/1',
  steps: [
    { id: 'a', type: 'transform', expression: '$random()' },
    { id: 'b', type: 'fail', code: 'enough' },
  ],
};

/** Executions that have failed one second after the other. */
async function failed(count: number, workflow?: string) {
  const of = workflow ?? (await app.save(definition));
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 1_000);
    ids.push(await app.begin(of));
    await app.settle();
  }
  return { workflow: of, ids };
}

const list = async (query = '') =>
  (await app.ask('GET', `${letters}${query}`)).body.map(({ id }: { id: string }) => id);
const metric = async () =>
  /^portico_workflow_dead_letters (\S+)$/m.exec((await app.ask('GET', '/metrics', { token: metricsToken })).body)?.[1];

describe('GET …/dead-letters', () => {
  it('lists the failed executions that are not acknowledged, the latest first, of all workflows or of one', async () => {
    const one = await failed(2);
    const other = await failed(1);
    const fine = await app.save({ portico: 'workflow/1', steps: [{ id: 'a', type: 'transform', expression: '1' }] });
    await app.begin(fine);
    await app.settle();
    expect(await list()).toEqual([...other.ids, ...one.ids.toReversed()]);
    expect(await list(`?workflow=${one.workflow}`)).toEqual(one.ids.toReversed());
    const { headers, body } = await app.ask('GET', `${letters}?per_page=1&page=2`);
    expect([headers.get('x-total-count'), body[0].id, body[0].acknowledged_at]).toEqual(['3', one.ids[1], null]);
    expect(await metric()).toBe('3');
  });

  it('leaves out those of a deleted workflow, and 404 for one that is not there', async () => {
    const { workflow } = await failed(1);
    await app.ask('DELETE', `${workflows}/${workflow}`);
    expect(await list()).toEqual([]);
    expect(await metric()).toBe('0');
    expect((await app.ask('GET', `${letters}?workflow=${workflow}`)).status).toBe(404);
  });
});

describe('POST …/executions/{execution}/acknowledge', () => {
  it('takes it from the list, once and for all; 409 for one that has not failed', async () => {
    const { workflow, ids } = await failed(2);
    const at = `${workflows}/${workflow}/executions`;
    const now = app.clock.now?.toISOString();
    for (const _ of [1, 2]) {
      expect(await app.ask('POST', `${at}/${ids[0]}/acknowledge`)).toMatchObject({
        status: 200,
        body: { id: ids[0], status: 'failed', acknowledged_at: now },
      });
      app.clock.now = new Date(Date.parse(now ?? '') + 5_000);
    }
    expect(await list()).toEqual([ids[1]]);
    expect(await metric()).toBe('1');
    const open = await app.begin(workflow);
    expect(await app.ask('POST', `${at}/${open}/acknowledge`)).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    });
  });

  it('is what trying it again does, too', async () => {
    const { workflow, ids } = await failed(1);
    expect((await app.ask('POST', `${workflows}/${workflow}/executions/${ids[0]}/retry`, { body: {} })).status).toBe(
      202,
    );
    expect(await list()).toEqual([]);
  });
});

describe('POST …/dead-letters/acknowledge', () => {
  it('takes note of named ones, of those of a workflow, or of all', async () => {
    const one = await failed(2);
    const other = await failed(2);
    const acknowledge = (body: object) => app.ask('POST', `${letters}/acknowledge`, { body });
    expect(await acknowledge({ executions: [one.ids[0]] })).toMatchObject({
      status: 200,
      body: { executions: [one.ids[0]], remaining: 0 },
    });
    // Once more, it is none any more.
    expect((await acknowledge({ executions: [one.ids[0]] })).body).toEqual({ executions: [], remaining: 0 });
    expect((await acknowledge({ workflow: one.workflow })).body).toEqual({ executions: [one.ids[1]], remaining: 0 });
    expect((await acknowledge({})).body).toEqual({ executions: other.ids, remaining: 0 });
    expect(await list()).toEqual([]);
  });

  it('400 for more than 500, and for none', async () => {
    const ids = Array.from({ length: 501 }, () => '019312d0-0000-7000-8000-000000000000');
    for (const executions of [ids, []])
      expect((await app.ask('POST', `${letters}/acknowledge`, { body: { executions } })).status).toBe(400);
  });
});

describe('POST …/dead-letters/retry', () => {
  const retry = (body: object) => app.ask('POST', `${letters}/retry`, { body });

  it('begins each of them as a new execution, where it had failed', async () => {
    const { workflow, ids } = await failed(3);
    const { status, body } = await retry({ workflow });
    expect([status, body.refused, body.remaining]).toEqual([202, [], 0]);
    expect(body.retried.map(({ execution }: { execution: string }) => execution)).toEqual(ids);
    expect(await list()).toEqual([]);
    await app.settle();
    for (const { execution, execution_id } of body.retried) {
      const [before, after] = [await app.look(workflow, execution), await app.look(workflow, execution_id)];
      expect(after).toMatchObject({ retry_of: execution, status: 'failed', acknowledged_at: null });
      expect(after.steps[0].output).toBe(before.steps[0].output);
    }
    expect(await list()).toHaveLength(3);
  });

  it('with the latest version, from the start, on request', async () => {
    const { workflow, ids } = await failed(1);
    const mended = { portico: 'workflow/1', steps: [{ id: 'c', type: 'transform', expression: '"mended"' }] };
    await app.ask('PATCH', `${workflows}/${workflow}`, { body: { definition: mended } });
    const { body } = await retry({ executions: ids, version: 'latest' });
    await app.settle();
    expect(await app.look(workflow, body.retried[0].execution_id)).toMatchObject({ status: 'completed', version: 2 });
  });

  it('takes 500 at a time', async () => {
    const { workflow, ids } = await failed(1);
    await app.services.orm.em.fork().execute(
      `insert into execution (id, project_id, workflow_id, version, status, trigger_type, created_at, started_at, finished_at)
       select gen_random_uuid(), project_id, workflow_id, version, status, trigger_type, created_at, started_at,
         finished_at - interval '1 hour' from execution, generate_series(1, 500) where id = ?`,
      [ids[0]],
    );
    const first = (await retry({ workflow })).body;
    expect([first.retried.length, first.remaining]).toEqual([500, 1]);
    expect(first.retried.at(-1).execution).toBe(ids[0]);
    const second = (await retry({ workflow })).body;
    expect([second.retried.length, second.remaining]).toEqual([1, 0]);
    app.jobs.splice(0);
  });

  it('refuses those whose delivery is not kept any more, which stay', async () => {
    const { workflow, ids } = await failed(2);
    await app.services.orm.em
      .fork()
      .execute('update execution set delivery_id = gen_random_uuid() where id = ?', [ids[0]]);
    const { body } = await retry({ workflow });
    expect(body).toMatchObject({ retried: [{ execution: ids[1] }], refused: [{ execution: ids[0], code: 'in_use' }] });
    expect(body.remaining).toBe(1);
    expect(await list()).toEqual([ids[0]]);
    const single = await app.ask('POST', `${workflows}/${workflow}/executions/${ids[0]}/retry`, { body: {} });
    expect(single).toMatchObject({ status: 409, body: { code: 'in_use' } });
  });
});

it('403 without edit_workflows, for all that changes something', async () => {
  const token = await app.makeToken(['browse_workflows']);
  expect((await app.ask('GET', letters, { token })).status).toBe(200);
  for (const what of ['retry', 'acknowledge'])
    expect((await app.ask('POST', `${letters}/${what}`, { token, body: {} })).status).toBe(403);
  expect((await app.ask('GET', letters, { token: await app.makeToken(['browse_studio']) })).status).toBe(403);
});

it('stay 90 days whether or not they are acknowledged', async () => {
  const { ids } = await failed(1);
  app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 89 * 24 * 3_600_000);
  await pruneExecutions(app.services, new AbortController().signal);
  expect(await list()).toEqual(ids);
  app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 2 * 24 * 3_600_000);
  await pruneExecutions(app.services, new AbortController().signal);
  expect(await list()).toEqual([]);
});

it('has them in GraphQL, too', async () => {
  const { workflow, ids } = await failed(3);
  const graphql = async (query: string) => {
    const { body } = await app.ask('POST', '/graphql', { body: { query } });
    expect(body.errors).toBeUndefined();
    return body.data;
  };
  const at = 'organization: "acme", project: "site"';
  const seen = await graphql(
    `{ project(${at}) { dead_letters(first: 2, workflow: "${workflow}") { total_count nodes { id acknowledged_at } } } }`,
  );
  expect(seen.project.dead_letters).toEqual({
    total_count: 3,
    nodes: [ids[2], ids[1]].map((id) => ({ id, acknowledged_at: null })),
  });
  const [first, second, third] = ids;
  const changed = await graphql(`mutation {
    acknowledgeExecution(${at}, input: { execution: "${first}" }) { id acknowledged_at }
    acknowledgeDeadLetters(${at}, input: { executions: ["${second}"] }) { executions remaining }
    retryDeadLetters(${at}, input: { from: start }) { retried { execution execution_id } refused { code } remaining }
  }`);
  expect(changed).toMatchObject({
    acknowledgeExecution: { id: first },
    acknowledgeDeadLetters: { executions: [second], remaining: 0 },
    retryDeadLetters: { retried: [{ execution: third }], refused: [], remaining: 0 },
  });
});
