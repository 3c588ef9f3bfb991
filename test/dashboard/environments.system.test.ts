import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { studio } from '../support/app.ts';
import { expectGoodPage, expectTexts, narrow, withDashboard } from '../support/dashboard.ts';
import { type Environment, workOff } from '../support/deployments.ts';

const dashboard = withDashboard();

/** Commits a page of the site. */
async function save(text: string): Promise<void> {
  await (await dashboard.app.repository()).write({
    branch: 'main',
    author: { name: 'Hazel Quill', email: 'hazel@portico.test' },
    plan: async () => ({
      changes: [{ path: 'index.html', content: Buffer.from(`<h1>${text}</h1>`) }],
      message: text,
      result: null,
    }),
  });
  await dashboard.app.services.studio.moves.settled();
}

const work = () => workOff(dashboard.app);

const environments = `${studio}/environments`;
/** For what is read at the server after a click. */
const patience = { interval: 200 };
const read = async (id: number): Promise<Environment> => (await dashboard.app.ask('GET', `${environments}/${id}`)).body;

/** An environment that shows the files as they are, with a deployment of its own for each text. */
async function make(name: string, texts: readonly string[] = [], draft: object = {}): Promise<Environment> {
  const { status, body } = await dashboard.app.ask('POST', environments, {
    body: { name, branch: 'main', provider: 'static', auto_deploy: false, ...draft },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  for (const text of texts) {
    await save(text);
    await dashboard.app.ask('POST', `${studio}/deployments`, { body: { environment_id: body.id } });
    await work();
  }
  return body;
}

const pageOf = ({ id }: Environment) => `/p/acme/site/site/environments/${id}`;
const region = (page: Page, name: string) => page.getByRole('region', { name });
const rowOf = (page: Page, text: string) =>
  page.getByRole('table', { name: 'Deployments' }).getByRole('row').filter({ hasText: text });

beforeAll(() => save('Begun'));

describe('what is live', () => {
  test('an earlier version is made live by keyboard, and a later one again', async () => {
    const made = await make('Rolled', ['Red', 'Green']);
    const page = await dashboard.open(pageOf(made));
    await rowOf(page, 'Green').getByText('live now').waitFor();
    await expectGoodPage(page);
    const other = await page.context().newPage();
    await other.goto(`${dashboard.app.url}${pageOf(made)}`);
    await rowOf(other, 'Green').getByText('live now').waitFor();
    await rowOf(page, 'Red')
      .getByRole('button', { name: /^Make live/ })
      .press('Enter');
    const dialog = page.getByRole('dialog', { name: /^Make deployment \d+ live in Rolled\?$/ });
    await dialog.getByText('Green').waitFor();
    await dialog.getByText('It stays until something else is deployed or made live.').waitFor();
    await expectGoodPage(page);
    await dialog.getByRole('button', { name: 'Make this version live' }).press('Enter');
    await page.getByText(/^Deployment \d+ is live in Rolled\.$/).waitFor();
    await rowOf(page, 'Red').getByText('live now').waitFor();
    expect(await rowOf(page, 'Green').getByText('live now').count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).press('Enter');
    await page.getByText('What was live before is live again.').waitFor();
    await rowOf(page, 'Green').getByText('live now').waitFor();
    await rowOf(page, 'Red')
      .getByRole('button', { name: /^Make live/ })
      .press('Enter');
    await dialog.getByRole('button', { name: 'Make this version live' }).press('Enter');
    await rowOf(page, 'Red').getByText('live now').waitFor();
    await rowOf(other, 'Red').getByText('live now').waitFor();

    await rowOf(page, 'Green').getByRole('link').press('Enter');
    await page.getByRole('heading', { name: /^Deployment \d+$/ }).waitFor();
    await page.getByRole('button', { name: 'Make this version live' }).press('Enter');
    await page.getByRole('dialog').getByText('Red').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Make this version live' }).press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('live now', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Make this version live' }).count()).toBe(0);
    await expectGoodPage(page);
  });

  test('a version is made live on a telephone, from the list of all deployments', async () => {
    await make('Carried', ['Cold', 'Warm']);
    const page = await dashboard.open('/p/acme/site/site', { size: narrow });
    await rowOf(page, 'Cold')
      .getByRole('button', { name: /^Make live/ })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make this version live' }).click();
    await rowOf(page, 'Cold').getByText('live now').waitFor();
    await expectGoodPage(page);
  });

  test('a version whose files are no longer kept says so in the dialog, and is not offered when the page is read again', async () => {
    const made = await make('Forgetful', ['Old', 'New']);
    const page = await dashboard.open(pageOf(made));
    const button = rowOf(page, 'Old').getByRole('button', { name: /^Make live/ });
    await button.click();
    await dashboard.app.services.orm.em
      .fork()
      .execute(`update deployment set manifest_sha256 = null where environment_id = ? and title = 'Old'`, [made.id]);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Make this version live' }).click();
    await dialog.getByRole('alert').getByText('its files are not kept any more; run it again instead').waitFor();
    await expectGoodPage(page);
    await page.reload();
    await rowOf(page, 'New').getByText('live now').waitFor();
    expect(await button.count()).toBe(0);
  });

  test('more deployments than a page holds are on further pages', async () => {
    const made = await make('Busy');
    for (let left = 21; left > 0; left -= 1)
      await dashboard.app.ask('POST', `${studio}/deployments`, { body: { environment_id: made.id } });
    const page = await dashboard.open(pageOf(made));
    const links = page.getByRole('table', { name: 'Deployments' }).getByRole('link');
    await page.getByText('21 in all').waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await expect.poll(() => links.count()).toBe(1);
    await page.reload();
    await page.getByRole('button', { name: 'First page' }).click();
    await expect.poll(() => links.count()).toBe(20);
    await dashboard.app.ask('DELETE', `${environments}/${made.id}?force=true`);
  });

  test('the site is taken down, and comes back with a version that is made live', async () => {
    const made = await make('Paused', ['Shown']);
    const page = await dashboard.open(pageOf(made));
    await region(page, 'Take down, delete').getByRole('button', { name: 'Take site down' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take site down' }).click();
    await page.getByText('Nothing yet. Deploy it to show it.').waitFor();
    expect((await read(made.id)).published_deployment_id).toBeNull();
    expect(await page.getByRole('button', { name: 'Take site down' }).count()).toBe(0);
    await rowOf(page, 'Shown')
      .getByRole('button', { name: /^Make live/ })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make this version live' }).click();
    await rowOf(page, 'Shown').getByText('live now').waitFor();
  });
});

describe('settings', () => {
  test('what is saved holds, what is refused stands beside its field, and nothing else is sent', async () => {
    const made = await make('Plain');
    await make('Taken');
    const page = await dashboard.open(pageOf(made));
    const general = region(page, 'General');
    await general.getByLabel('Name').fill('taken');
    await general.getByRole('button', { name: 'Save' }).click();
    await general.getByLabel('Name').and(page.locator('[aria-invalid="true"]')).waitFor();
    await general.getByLabel('Name').fill('Zürich ‮ bridge');
    await general.getByRole('combobox', { name: 'Visible to' }).click();
    await page.getByRole('option', { name: 'Everybody who has the address' }).click();
    // Another person's save, which this one does not undo.
    await dashboard.app.ask('PATCH', `${environments}/${made.id}`, { body: { cancel_superseded: true } });
    await general.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: /Zürich/ }).waitFor();
    expect(await read(made.id)).toMatchObject({ visibility: 'public', cancel_superseded: true, auto_deploy: false });

    const build = region(page, 'Build');
    await build.getByRole('combobox', { name: 'Published by' }).click();
    await page.getByRole('option', { name: 'This server, after a build' }).click();
    await build.getByLabel('Directory of the site').fill('../outside');
    await build.getByLabel('Build command').fill('node build.mjs');
    await build.getByLabel('Time limit').fill('5');
    await build.getByRole('button', { name: 'Save' }).click();
    await build.getByLabel('Directory of the site').and(page.locator('[aria-invalid="true"]')).waitFor();
    await build.getByLabel('Time limit').and(page.locator('[aria-invalid="true"]')).waitFor();
    await expectGoodPage(page);
    await build.getByLabel('Directory of the site').fill('web');
    await build.getByLabel('Time limit').fill('120');
    await build.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(() => read(made.id), patience)
      .toMatchObject({
        provider: 'build',
        root_directory: 'web',
        build_command: 'node build.mjs',
        install_command: null,
        timeout_seconds: 120,
      });
  });

  test('an external provider is named, and its secret is shown once', async () => {
    const made = await make('Elsewhere');
    const page = await dashboard.open(pageOf(made));
    const build = region(page, 'Build');
    await build.getByRole('combobox', { name: 'Published by' }).click();
    await page.getByRole('option', { name: 'An external provider' }).click();
    await build.getByRole('button', { name: 'Save' }).click();
    await build.getByLabel('Address to notify').and(page.locator('[aria-invalid="true"]')).waitFor();
    await build.getByLabel('Address to notify').fill('https://builds.example/hook');
    await build.getByLabel('Address of the site').fill('https://site.example');
    await build.getByRole('button', { name: 'Save' }).click();
    const once = page.getByRole('dialog', { name: 'Notifications are signed' });
    const secret = await once.getByText(/^[\w+/=-]{20,}$/).innerText();
    await page.keyboard.press('Escape');
    await expectGoodPage(page);
    await once.getByRole('button', { name: 'Done' }).click();
    await once.waitFor({ state: 'detached' });
    await page.reload();
    await build.getByLabel('Address to notify').waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(await read(made.id)).toMatchObject({ provider: 'webhook', url: 'https://site.example' });
  });

  test('variables are added, changed and removed; a secret is written and never read back', async () => {
    const made = await make('Varied', [], {
      variables: [
        { name: 'PLAIN', value: 'before', secret: false },
        { name: 'TOKEN', value: 'kept secret', secret: true, available_in_install: true },
        { name: 'GONE', value: 'x' },
      ],
    });
    const page = await dashboard.open(pageOf(made));
    const variables = region(page, 'Variables');
    const one = (name: string) => variables.getByRole('group', { name, exact: true });
    expect(await one('TOKEN').getByLabel('Value').inputValue()).toBe('');
    expect(await page.content()).not.toContain('kept secret');
    await one('PLAIN').getByLabel('Value').fill('after');
    await variables.getByRole('button', { name: 'Remove GONE' }).press('Enter');
    await variables.getByRole('button', { name: 'Add variable' }).and(page.locator(':focus')).press('Enter');
    await page.keyboard.type('2ND');
    await page.keyboard.press('Tab');
    await page.keyboard.type('line one');
    await page.keyboard.press('Enter');
    await page.keyboard.type('line two');
    await variables.getByRole('button', { name: 'Save' }).click();
    await one('2ND').getByLabel('Name').and(page.locator('[aria-invalid="true"]')).waitFor();
    await expectGoodPage(page);
    await one('2ND').getByLabel('Name').fill('SECOND');
    await variables.getByRole('button', { name: 'Save' }).click();
    await one('SECOND').getByPlaceholder('Stored, not shown').waitFor();
    const kept = { available_in_drafts: false };
    expect((await read(made.id)).variables).toEqual([
      { ...kept, name: 'PLAIN', value: 'after', secret: false, available_in_install: false },
      { ...kept, name: 'TOKEN', value: null, secret: true, available_in_install: true },
      { ...kept, name: 'SECOND', value: null, secret: true, available_in_install: false },
    ]);

    // A stored secret cannot be made plain without its value being known again.
    await one('TOKEN').getByLabel('Secret').uncheck();
    await variables.getByRole('button', { name: 'Save' }).click();
    await one('TOKEN').getByText('Is required to make a secret one plain.').waitFor();
  });

  test('the last variable goes, and the list says that there are none', async () => {
    const made = await make('Bare', [], { variables: [{ name: 'ONLY', value: 'x' }] });
    const page = await dashboard.open(pageOf(made));
    const variables = region(page, 'Variables');
    await variables.getByRole('button', { name: 'Remove ONLY' }).click();
    await variables.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await read(made.id)).variables, patience).toEqual([]);
    await variables.getByText('There are no variables.').waitFor();
  });
});

describe('deletion', () => {
  test('a protected environment is not deleted; then it is, with the deployment that waits', async () => {
    const made = await make('Doomed', [], { protected: true });
    await dashboard.app.ask('POST', `${studio}/deployments`, { body: { environment_id: made.id } });
    const page = await dashboard.open(pageOf(made));
    const removal = region(page, 'Take down, delete');
    await removal.getByText('It is protected').waitFor();
    expect(await removal.getByRole('button', { name: 'Delete environment' }).isDisabled()).toBe(true);
    await removal.getByRole('switch', { name: 'Protect from deletion' }).click();
    await removal.getByRole('button', { name: 'Delete environment' }).and(page.locator(':enabled')).click();
    const dialog = page.getByRole('dialog', { name: 'Delete Doomed?' });
    await dialog.getByText('The deployment that is under way is cancelled.').waitFor();
    await dialog.getByLabel('Type doomed to confirm').fill('doomed');
    await expectGoodPage(page);
    await dialog.getByRole('button', { name: 'Delete environment' }).click();
    await page.waitForURL('**/p/acme/site/site');
    await page.getByText('Doomed is deleted.').waitFor();
    expect((await dashboard.app.ask('GET', `${environments}/${made.id}`)).status).toBe(404);
  });

  test('a deployment that begins meanwhile is named before it is cancelled', async () => {
    const made = await make('Busy');
    const page = await dashboard.open(pageOf(made));
    await page.getByRole('button', { name: 'Delete environment' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete Busy?' });
    await dialog.getByLabel('Type busy to confirm').fill('busy');
    const warning = dialog.getByText('The deployment that is under way is cancelled.');
    // The first may come before the page follows what changes.
    const begin = async () => {
      await dashboard.app.ask('POST', `${studio}/deployments`, { body: { environment_id: made.id } });
      return warning.isVisible();
    };
    await expect.poll(begin, patience).toBe(true);
    await dialog.getByRole('button', { name: 'Delete environment' }).click();
    await page.getByText('Busy is deleted.').waitFor();
  });
});

describe('who may only look', () => {
  test('sees facts, and no button that changes anything', async () => {
    const made = await make('Shown', ['First', 'Second'], {
      variables: [
        { name: 'PLAIN', value: 'to be seen', secret: false },
        { name: 'TOKEN', value: 'kept secret' },
      ],
    });
    const page = await dashboard.open(pageOf(made), { email: 'rae@example.org', role: 'readonly' });
    await page.getByText('You can see these settings').waitFor();
    await region(page, 'Variables').getByText('to be seen').waitFor();
    await region(page, 'General').getByText('Members of the project').waitFor();
    await region(page, 'Build').getByText('This server, as the files are').waitFor();
    const buttons = await page.getByRole('main').getByRole('button').allInnerTexts();
    expect(buttons).toEqual(['Open']);
    expect(await page.getByRole('main').getByRole('textbox').count()).toBe(0);
    expect(await page.content()).not.toContain('kept secret');
    await expectGoodPage(page);
  });

  test('finds nothing at the address of an environment that does not exist', async () => {
    const page = await dashboard.open('/p/acme/site/site/environments/999999');
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
    const other = await dashboard.open('/p/acme/site/site/environments/first');
    await other.getByRole('heading', { name: 'There is nothing here' }).waitFor();
  });
});

test('a new environment of an external provider shows its secret once', async () => {
  const page = await dashboard.open('/p/acme/site/site');
  await page.getByRole('button', { name: 'New environment' }).click();
  const dialog = page.getByRole('dialog', { name: 'New environment' });
  await dialog.getByLabel('Name').fill('Provided');
  await dialog.getByRole('combobox', { name: 'Published by' }).click();
  await page.getByRole('option', { name: 'An external provider' }).click();
  await dialog.getByLabel('Address to notify').fill('https://builds.example/hook');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('dialog', { name: 'Notifications are signed' }).getByRole('button', { name: 'Done' }).click();
  await page.getByRole('link', { name: 'Provided' }).click();
  await page.getByRole('heading', { level: 1, name: 'Provided' }).waitFor();
});

test('the page is in German, and costs at most 12 statements', async () => {
  const made = await make('Bühne', ['Eins']);
  const page = await dashboard.open(pageOf(made), { email: 'dora@example.org', language: 'de' });
  await expectTexts(page, 'de', 'Offline nehmen, löschen');
  await expectGoodPage(page);
  const { EnvironmentPage = 99 } = await dashboard.statementsOf(page);
  expect(EnvironmentPage).toBeLessThanOrEqual(12);
});
