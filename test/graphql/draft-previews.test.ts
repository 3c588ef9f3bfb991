import { beforeAll, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { workOff } from '../support/deployments.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);
let editor: string;
const at = 'organization: "acme", project: "site"';

beforeAll(async () => {
  editor = await app.token('acme', ['browse_studio', 'edit_studio']);
  const git = await app.repository();
  await save(git, { 'index.html': '<h1>Hello</h1>' });
  await git.createBranch('spring', (await git.head('main')) ?? '');
});

const ask = (document: string, token = editor) => app.data(document, { token });
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
    app.full,
  );
  const change = `mutation { updateRepository(${at}, input: { draft_preview: ${createEnvironment.id} }) { mode } }`;
  await ask(change, app.full);
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
  await ask(`mutation { updateRepository(${at}, input: { draft_preview: null }) { mode } }`, app.full);
  const { body } = await app.query(request, { token: editor });
  expect(body.errors[0]).toMatchObject({ path: ['previewBranch'], message: expect.stringContaining('draft_preview') });
});
