import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { seed, studio } from '../support/app.ts';
import { expectGoodPage, expectTexts, withDashboard } from '../support/dashboard.ts';
import { type Environment, workOff } from '../support/deployments.ts';

const dashboard = withDashboard();
const editor = { email: 'eve@example.org', role: 'editor' } as const;
/** For what is read at the server after a click. */
const patience = { interval: 200 };

let live: Environment;
beforeAll(async () => {
  const { app } = dashboard;
  await seed(app, { 'index.html': '<h1>Hello</h1>' });
  for (const name of ['spring', 'summer']) await app.ask('POST', `${studio}/branches`, { body: { name } });
  const variables = [{ name: 'API_KEY', value: 'secret' }];
  const body = { name: 'Live', branch: 'main', provider: 'static', auto_deploy: false, variables };
  live = (await app.ask('POST', `${studio}/environments`, { body })).body;
});

const read = async (path: string) => (await dashboard.app.ask('GET', `${studio}${path}`)).body;
const environmentsOf = (branch: string): Promise<Environment[]> => read(`/environments?branch=${branch}`);
const region = (page: Page, name: string) => page.getByRole('region', { name });

test('a draft is previewed by a person who edits, once a manager has named the environment it is a copy of', async () => {
  const site = '/p/acme/site/site?draft=spring';
  const early = await dashboard.open(site, editor);
  await early.getByRole('heading', { name: 'Live', exact: true }).waitFor();
  expect(await early.getByRole('button', { name: 'Preview this draft' }).count()).toBe(0);

  const manager = await dashboard.open(site);
  await manager.getByText('This draft is not shown anywhere yet').waitFor();
  await manager.getByRole('link', { name: 'Open settings' }).click();
  const publishing = region(manager, 'Publishing');
  await publishing.getByRole('combobox', { name: 'Previews of drafts' }).click();
  await manager.getByRole('option', { name: 'Live' }).click();
  await publishing.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await read('/repository')).settings.draft_preview, patience).toBe(live.id);

  const page = await dashboard.open(site, editor);
  await page.getByText('This draft is not shown anywhere yet').waitFor();
  await expectGoodPage(page);
  await page.getByRole('button', { name: 'Preview this draft' }).press('Enter');
  await page.getByRole('heading', { name: 'Preview of spring', exact: true }).waitFor();
  await expect.poll(() => page.getByRole('button', { name: 'Preview this draft' }).count(), patience).toBe(0);
  await workOff(dashboard.app);
  const toast = page.getByRole('alert').filter({ hasText: 'Preview of spring is ready' });
  await toast.getByRole('button', { name: 'Open Preview of spring' }).waitFor();
  await expectGoodPage(page);
  expect(await environmentsOf('spring')).toMatchObject([
    { draft_preview: true, visibility: 'members', variables: [], published_deployment_id: expect.any(Number) },
  ]);
});

test('a draft is previewed from the list of drafts', async () => {
  await dashboard.app.ask('PATCH', `${studio}/repository`, { body: { draft_preview: live.id } });
  const page = await dashboard.open('/p/acme/site/drafts', editor);
  await page.getByRole('button', { name: 'More for summer' }).click();
  await page.getByRole('menuitem', { name: 'Preview this draft' }).click();
  await expect.poll(async () => (await environmentsOf('summer')).length, patience).toBe(1);
  await page.getByRole('button', { name: 'More for summer' }).click();
  await page.getByRole('menuitem', { name: /^Publish/ }).waitFor();
  await expect.poll(() => page.getByRole('menuitem', { name: 'Preview this draft' }).count(), patience).toBe(0);
});

test('a secret is marked for previews of drafts with a warning, and a preview has no settings of its own', async () => {
  const page = await dashboard.open(`/p/acme/site/site/environments/${live.id}`);
  const variables = region(page, 'Variables');
  await variables.getByRole('checkbox', { name: 'Also for previews of drafts' }).check();
  await variables.getByText('Never use this for production secrets.').waitFor();
  await expectGoodPage(page);
  await variables.getByRole('button', { name: 'Save' }).click();
  await expect
    .poll(async () => (await read(`/environments/${live.id}`)).variables, patience)
    .toMatchObject([{ name: 'API_KEY', available_in_drafts: true }]);
  await dashboard.app.ask('PATCH', `${studio}/repository`, { body: { draft_preview: live.id } });
  const { body } = await dashboard.app.ask('POST', `${studio}/draft-previews`, { body: { branch: 'spring' } });
  expect(body.variables).toMatchObject([{ name: 'API_KEY', value: null }]);
  await page.goto(`${dashboard.app.url}/p/acme/site/site/environments/${body.id}`);
  await page.getByText('This is a draft preview: its settings follow those of the environment').waitFor();
  expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Delete environment' }).waitFor();
  await expectGoodPage(page);
});

test('a draft preview is shown beside 100 environments, which come before it', async () => {
  const { app } = dashboard;
  await app.ask('DELETE', `${studio}/environments/${(await environmentsOf('spring'))[0]?.id}?force=true`);
  await app.services.orm.em.fork().execute(
    `insert into environment (uuid, project_id, name, slug, branch, type, provider, root_directory, output_directory, variables, network,
       timeout_seconds, auto_deploy, cancel_superseded, visibility, protected, version, created_at, updated_at)
     select gen_random_uuid(), project_id, 'filler ' || place, 'filler-' || place, branch, type, provider, '', '', '[]', network,
       timeout_seconds, false, false, visibility, false, 1, created_at, updated_at
     from environment, generate_series(1, 99) as place where id = ?`,
    [live.id],
  );
  const { body } = await app.ask('POST', `${studio}/draft-previews`, { body: { branch: 'spring' } });
  const page = await dashboard.open('/p/acme/site/site?draft=spring', editor);
  await page.getByRole('heading', { name: 'filler 99', exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Preview of spring', exact: true }).waitFor();
  expect(await page.getByText('This draft is not shown anywhere yet').count()).toBe(0);
  const strip = page.getByRole('region', { name: 'The version you work in' });
  await strip.getByRole('link', { name: /^Preview of spring/ }).waitFor();
  const { Site, DraftPreviews, ShownDrafts } = await dashboard.statementsOf(page);
  for (const count of [Site, DraftPreviews, ShownDrafts]) expect(count).toBeLessThanOrEqual(12);
  await app.services.orm.em.fork().execute(`delete from environment where name like 'filler %'`);
  await app.ask('DELETE', `${studio}/environments/${body.id}?force=true`);
});

test('the texts are there in German', async () => {
  await dashboard.app.ask('DELETE', `${studio}/environments/${(await environmentsOf('summer'))[0]?.id}?force=true`);
  const page = await dashboard.open('/p/acme/site/site?draft=summer', { ...editor, language: 'de' });
  await page.getByRole('button', { name: 'Vorschau dieses Entwurfs' }).waitFor();
  await expectTexts(page, 'de', 'Dieser Entwurf wird noch nirgends gezeigt');
});
