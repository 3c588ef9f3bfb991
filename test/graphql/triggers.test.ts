import { beforeAll, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';
import { call, newWebhook, startWebhookApp } from '../support/webhook.ts';

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
