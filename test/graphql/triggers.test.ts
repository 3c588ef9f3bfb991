import { beforeAll, describe, expect, it, vi } from 'vitest';
import { getWebhookDeliveries } from '../../src/domain/workflows/deliveries/deliveries.operations.ts';
import { getExecutions } from '../../src/domain/workflows/executions/executions.operations.ts';
import { systemActor } from '../../src/kernel/actor.ts';
import { run } from '../../src/kernel/run.ts';
import { systemCall } from '../../src/server/first-run.ts';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';
import { call, newWebhook, startWebhookApp, workflowsPath } from '../support/webhook.ts';

const app = shared(graphqlApp);
let workflow: string;

beforeAll(async () => {
  const definition = 'portico: workflow/1\\nsteps:\\n  - {id: a, type: fail}\\n';
  const made = await ask(
    `mutation { createWorkflow(${at}, input: { name: "Hooked", definition: "${definition}" }) { id } }`,
  );
  workflow = made.createWorkflow.id;
});

const at = 'organization: "acme", project: "site"';
const ask = (document: string) => app.data(document);

it('triggers are made, read, changed and deleted; their secrets shown, rotated and revoked', async () => {
  const made = await ask(
    `mutation { createTrigger(${at}, input: { workflow: "${workflow}", type: webhook }) { id auth_mode } }`,
  );
  const { id } = made.createTrigger;
  expect(made.createTrigger.auth_mode).toBe('secret');
  const names = `workflow: "${workflow}", trigger: "${id}"`;
  const changed = await ask(
    `mutation { updateTrigger(${at}, input: { ${names}, auth_mode: hmac, methods: [POST] }) { auth_mode methods } }`,
  );
  expect(changed.updateTrigger).toEqual({ auth_mode: 'hmac', methods: ['POST'] });
  const shown = await ask(
    `mutation { revealTriggerSecret(${at}, input: { ${names} }) { secret secret_version auth_mode } }`,
  );
  expect(shown.revealTriggerSecret).toMatchObject({ secret: expect.stringMatching(/^whk_/), secret_version: 1 });
  const rotated = await ask(
    `mutation { rotateTriggerSecret(${at}, input: { ${names}, grace_period_seconds: 60 }) { secret secret_state } }`,
  );
  expect(rotated.rotateTriggerSecret.secret_state).toBe('grace');
  const read =
    await ask(`{ project(${at}) { workflow(id: "${workflow}") { triggers { total_count nodes { id secret_state } } trigger(id: "${id}") {
    url refusals { reason count } deliveries { total_count nodes { id } } } } } }`);
  expect(read.project.workflow).toEqual({
    triggers: { total_count: 1, nodes: [{ id, secret_state: 'grace' }] },
    trigger: {
      url: expect.stringMatching(/\/webhooks\/ai\/workflows\//),
      refusals: [],
      deliveries: { total_count: 0, nodes: [] },
    },
  });
  const revoked = await ask(
    `mutation { revokeTriggerSecret(${at}, input: { ${names}, which: all }) { secret_state } }`,
  );
  expect(revoked.revokeTriggerSecret.secret_state).toBe('revoked');
  const gone = await ask(`mutation { deleteTrigger(${at}, input: { ${names} }) { trigger { id } } }`);
  expect(gone.deleteTrigger).toEqual({ trigger: { id } });
});

it('leads from an execution to the call that started it, and from there back', async () => {
  const webhooks = await startWebhookApp();
  try {
    const hook = await newWebhook(webhooks, { auth_mode: 'secret' });
    const { body: accepted } = await call(webhooks.url, hook.endpoint, { query: `token=${hook.secret}` });
    const id = accepted.executionId;
    const delivery =
      'delivery { id workflow { id } trigger { id workflow { id } deliveries { nodes { id execution { id } } } } }';
    const { body } = await webhooks.ask('POST', '/graphql', {
      body: {
        query: `{ project(${at}) { execution(id: "${id}") { workflow_id delivery_id trigger { id } ${delivery} } } }`,
      },
    });
    expect(body.errors).toBeUndefined();
    const { workflow_id, delivery_id, trigger, delivery: found } = body.data.project.execution;
    const above = { id: workflow_id };
    const deliveries = { nodes: [{ id: delivery_id, execution: { id } }] };
    expect(found).toEqual({ id: delivery_id, workflow: above, trigger: { ...trigger, workflow: above, deliveries } });
  } finally {
    await webhooks.stop();
  }
});

describe('what large calls brought', () => {
  const webhooks = shared(startWebhookApp);
  const count = 13;
  const size = 3 * 1024 * 1024;
  let names: { workflow: string; trigger: string };
  beforeAll(async () => {
    const hook = await newWebhook(webhooks, { auth_mode: 'secret' });
    names = hook;
    const query = `token=${hook.secret}`;
    const headers = { 'content-type': 'text/plain' };
    await call(webhooks.url, hook.endpoint, { query, headers, body: Buffer.alloc(size, 'x') });
    const found = await webhooks.ask('GET', `${workflowsPath}${hook.path}/deliveries`);
    const again = `${workflowsPath}${hook.path}/deliveries/${found.body[0].id}/redeliver`;
    for (let n = 1; n < count; n += 1) expect((await webhooks.ask('POST', again, {})).status).toBe(202);
  });

  const reads = () => vi.spyOn(webhooks.services.blobs, 'read');
  const lists = async (list: string) => {
    const read = reads();
    const query = `{ project(${at}) { workflow(id: "${names.workflow}") { ${list} } } }`;
    const { body } = await webhooks.ask('POST', '/graphql', { body: { query } });
    const calls = read.mock.calls.length;
    read.mockRestore();
    return { ...body, reads: calls };
  };
  const deliveries = (selected: string, first = count) =>
    lists(`trigger(id: "${names.trigger}") { deliveries(first: ${first}) { nodes { ${selected} } } }`);

  it('is read only where it is selected', async () => {
    const found = await lists(`executions(first: ${count}) { nodes { delivery { id has_expired headers } } }`);
    expect([found.errors, found.reads]).toEqual([undefined, 0]);
    expect(found.data.project.workflow.executions.nodes[0].delivery).toMatchObject({ has_expired: false });
    const others = await deliveries('execution { output step_count steps { path } }');
    expect([others.errors, others.reads]).toEqual([undefined, 0]);
  });

  it('is read as far as one answer may hold it, and refused before it is read beyond', async () => {
    const few = await deliveries('execution { input }', 2);
    expect([few.errors, few.reads]).toEqual([undefined, 2]);
    const [{ execution }] = few.data.project.workflow.trigger.deliveries.nodes;
    expect(execution.input.body).toHaveLength(size);
    for (const many of [
      await deliveries('execution { input }'),
      await lists(`executions(first: ${count}) { nodes { delivery { body } } }`),
    ]) {
      expect(many.errors[0].extensions.code).toBe('PAYLOAD_TOO_LARGE');
      expect(many.reads).toBe(0);
    }
  });

  it('is read no further when the request has ended', async () => {
    const rows = await webhooks.services.orm.em.fork().execute('select id, execution_id from delivery');
    const actor = systemActor('test', ['browse_workflows'], 'portico.test');
    for (const [operation, wanted] of [
      [getWebhookDeliveries, { deliveries: rows.map(({ id }) => id), contents: true }],
      [getExecutions, { executions: rows.map(({ execution_id }) => execution_id), include: ['input'] }],
    ] as const) {
      const end = new AbortController();
      const read = reads().mockImplementation(async function* () {
        end.abort(new Error('the request has ended'));
        yield Buffer.from('x');
      });
      const ended = run(
        operation as typeof getExecutions,
        { ...systemCall(webhooks.services, actor), signal: end.signal },
        { organization: 'acme', project: 'site', ...wanted } as never,
      );
      await expect(ended).rejects.toThrow('the request has ended');
      expect(read).toHaveBeenCalledTimes(1);
      read.mockRestore();
    }
  });
});
