import { beforeAll, expect, it } from 'vitest';
import { workOnDeployments } from '../../src/domain/studio/deployments/run/work.ts';
import { shared } from '../support/app.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);
const at = 'organization: "acme", project: "site"';

beforeAll(async () => {
  await save(await app.repository(), { 'index.html': '<h1>Hello</h1>' });
});

const ask = (document: string) => app.data(document);
const command = (field: string) => ask(`mutation { ${field} }`);
const studio = async (selection: string) =>
  (await ask(`{ project(${at}) { studio { ${selection} } } }`)).project.studio;

it('creates environments, and leads from branches to them, to what they show, and to its log', async () => {
  const draft = 'name: "Live", branch: "main", provider: static, variables: [{ name: "A", value: "secret" }]';
  const { createEnvironment } = await command(
    `createEnvironment(${at}, input: { ${draft} }) { id slug url variables { name secret value } deploy_hook_secret latest_deployment { id status } }`,
  );
  expect(createEnvironment).toMatchObject({
    id: 1,
    slug: 'live',
    variables: [{ name: 'A', secret: true, value: null }],
    deploy_hook_secret: null,
    latest_deployment: { status: 'queued' },
  });
  await workOnDeployments(app.services);
  const { branch, environments } = await studio(`
    branch(name: "main") { environments { nodes { name published { conclusion commit { message } jobs {
      name status steps { name conclusion } log { total_count nodes { offset next_offset text } page_info { has_next_page } } } } } total_count } }
    environments { nodes { branch { name } latest_deployment { id environment { id name } } deployments { total_count } } }`);
  const [live] = branch.environments.nodes;
  expect(live).toMatchObject({
    name: 'Live',
    published: { conclusion: 'success', jobs: [{ name: 'prepare' }, { name: 'publish' }] },
  });
  const { status, log } = live.published.jobs[1];
  expect({ status, log }).toMatchObject({ status: 'completed', log: { page_info: { has_next_page: false } } });
  expect(log.total_count).toBe(log.nodes.length);
  const text = log.nodes.map((chunk: { text: string }) => chunk.text).join('');
  expect(text).toContain('1 files, 1 of them new');
  expect([log.nodes[0].offset, log.nodes.at(-1).next_offset]).toEqual([0, Buffer.byteLength(text)]);
  expect(environments.nodes).toEqual([
    {
      branch: { name: 'main' },
      latest_deployment: { id: 1, environment: { id: 1, name: 'Live' } },
      deployments: { total_count: 1 },
    },
  ]);
});

it('starts, cancels, repeats and deletes', async () => {
  const { startDeployment } = await command(
    `startDeployment(${at}, input: { environment_id: 1 }) { id status trigger }`,
  );
  expect(startDeployment).toMatchObject({ status: 'queued', trigger: 'manual' });
  const { cancelDeployment } = await command(
    `cancelDeployment(${at}, input: { deployment: ${startDeployment.id} }) { status conclusion }`,
  );
  expect(cancelDeployment).toEqual({ status: 'completed', conclusion: 'cancelled' });
  const { rerunDeployment } = await command(`rerunDeployment(${at}, input: { deployment: 1 }) { trigger run_number }`);
  expect(rerunDeployment).toEqual({ trigger: 'rerun', run_number: 3 });
  expect(
    await command(`updateEnvironment(${at}, input: { environment: 1, visibility: public }) { visibility }`),
  ).toEqual({
    updateEnvironment: { visibility: 'public' },
  });
  const { latest_deployment, deployments } = await studio(
    'latest_deployment { run_number } deployments(first: 1) { total_count }',
  );
  expect([latest_deployment.run_number, deployments.total_count]).toEqual([3, 3]);
  expect(
    await command(`deleteEnvironment(${at}, input: { environment: 1, force: true }) { environment { id } }`),
  ).toEqual({
    deleteEnvironment: { environment: { id: 1 } },
  });
  expect((await studio('environments { total_count }')).environments.total_count).toBe(0);
});

it('leads from pull requests to the deployments of their branches, loaded once for a list', async () => {
  await command(`createBranch(${at}, input: { name: "next" }) { name }`);
  await command(`createBranch(${at}, input: { name: "bare" }) { name }`);
  await save(await app.repository(), { 'next.html': 'x' }, { branch: 'next' });
  await save(await app.repository(), { 'bare.html': 'x' }, { branch: 'bare' });
  await command(`createPull(${at}, input: { title: "Next", head: "next" }) { number }`);
  await command(`createPull(${at}, input: { title: "Bare", head: "bare" }) { number }`);
  await command(`createEnvironment(${at}, input: { name: "Next", branch: "next", provider: static }) { id }`);
  const deployment = { branch: 'next', status: 'queued', jobs: [{ name: 'prepare' }, { name: 'publish' }] };
  const selection = 'branch status jobs { name }';
  app.reset();
  const { pull, pulls } = await studio(
    `pull(number: 1) { deployments { nodes { ${selection} } } } pulls { nodes { number deployments { ${selection} } } }`,
  );
  expect(pull.deployments.nodes).toEqual([deployment]);
  expect(pulls.nodes).toEqual([
    { number: 2, deployments: [] },
    { number: 1, deployments: [deployment] },
  ]);
  expect(app.operations.filter((name) => name === 'studio.listDeploymentsOfBranches').length).toBe(1);
});
