import { afterAll, beforeAll, expect, it } from 'vitest';
import { workOff } from '../support/deployments.ts';
import { save } from '../support/git-store.ts';
import { type GraphqlApp, graphqlApp } from '../support/graphql-app.ts';

let app: GraphqlApp;
let manager: string;
let editor: string;
const at = 'organization: "acme", project: "site"';

beforeAll(async () => {
  app = await graphqlApp();
  manager = await app.token('acme');
  editor = await app.token('acme', ['browse_studio', 'edit_studio']);
  const git = await app.repository();
  await save(git, { 'index.html': '<h1>Hello</h1>' });
  await git.createBranch('spring', (await git.head('main')) ?? '');
});
afterAll(() => app.close());

async function ask(document: string, token = editor) {
  const { body } = await app.query(document, { token });
  expect(body.errors).toBeUndefined();
  return body.data;
}
const named = async () =>
  (
    await ask(
      `{ project(${at}) { studio { repository { settings { draft_preview } draft_preview_environment { name } } } } }`,
    )
  ).project.studio.repository;
const request = `mutation { previewBranch(${at}, input: { branch: "spring" }) {
  id name draft_preview visibility branch { name } variables { name available_in_drafts }
  latest_deployment { id status commit { message } } published { id } } }`;

it('names the environment that drafts are copies of, and previews a draft by one made after it', async () => {
  expect(await named()).toEqual({ settings: { draft_preview: null }, draft_preview_environment: null });
  const variables = '[{ name: "A", value: "secret" }, { name: "B", value: "shared", available_in_drafts: true }]';
  const { createEnvironment } = await ask(
    `mutation { createEnvironment(${at}, input: { name: "Live", branch: "main", provider: static, variables: ${variables} }) { id } }`,
    manager,
  );
  const change = `mutation { updateRepository(${at}, input: { draft_preview: ${createEnvironment.id} }) { mode } }`;
  await ask(change, manager);
  const { id: live } = createEnvironment;
  expect(await named()).toEqual({ settings: { draft_preview: live }, draft_preview_environment: { name: 'Live' } });

  const { previewBranch } = await ask(request);
  expect(previewBranch).toMatchObject({
    name: 'Preview of spring',
    draft_preview: true,
    visibility: 'members',
    branch: { name: 'spring' },
    variables: [{ name: 'B', available_in_drafts: true }],
    latest_deployment: { status: 'queued' },
    published: null,
  });
  await workOff(app);
  const again = (await ask(request)).previewBranch;
  const { id } = previewBranch.latest_deployment;
  expect(again).toMatchObject({
    id: previewBranch.id,
    latest_deployment: { id, status: 'completed' },
    published: { id },
  });
});

it('refuses a caller who may not edit, and one while no environment is named', async () => {
  const reader = await app.token('acme', ['browse_studio']);
  const refused = await app.query(request, { token: reader });
  expect(refused.body.errors[0].extensions.code).toBe('FORBIDDEN');
  await ask(`mutation { updateRepository(${at}, input: { draft_preview: null }) { mode } }`, manager);
  const { body } = await app.query(request, { token: editor });
  expect(body.errors[0]).toMatchObject({ path: ['previewBranch'], message: expect.stringContaining('draft_preview') });
});
