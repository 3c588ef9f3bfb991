import { expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

const at = 'organization: "acme", project: "site"';
const ask = (document: string) => app.data(document);

it('workflows are made, disabled, enabled and deleted', async () => {
  const definition = 'portico: workflow/1\\nsteps:\\n  - {id: a, type: fail}\\n';
  const { createWorkflow } = await ask(
    `mutation { createWorkflow(${at}, input: { name: "Nightly", definition: "${definition}" }) { id enabled } }`,
  );
  expect(createWorkflow.enabled).toBe(true);
  const set = (enabled: boolean, more = '') =>
    `mutation { setWorkflowEnabled(${at}, input: { workflow: "${createWorkflow.id}", enabled: ${enabled}${more} }) { enabled } }`;
  expect(await ask(set(false, ', idempotency_key: "k1"'))).toEqual({ setWorkflowEnabled: { enabled: false } });
  expect(await ask(set(true))).toEqual({ setWorkflowEnabled: { enabled: true } });

  // A repeat under its key is answered and changes nothing.
  expect(await ask(set(false, ', idempotency_key: "k1"'))).toEqual({ setWorkflowEnabled: { enabled: false } });
  const read = () => ask(`{ project(${at}) { workflows { nodes { id enabled } } } }`);
  expect((await read()).project.workflows.nodes).toEqual([{ id: createWorkflow.id, enabled: true }]);

  const gone = await ask(
    `mutation { deleteWorkflow(${at}, input: { workflow: "${createWorkflow.id}" }) { workflow { id } } }`,
  );
  expect(gone).toEqual({ deleteWorkflow: { workflow: { id: createWorkflow.id } } });
  expect((await read()).project.workflows.nodes).toEqual([]);
});
