import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { advanceJob } from '../../src/domain/workflows/advance-job.ts';
import { createWorkflow, updateWorkflow } from '../../src/domain/workflows/workflows.operations.ts';
import type { RunningQueue } from '../../src/jobs/queue.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();
const site = { organization: 'acme', project: 'site' };
const definition = (text: string) =>
  `portico: workflow/1\nname: Note\nsteps:\n  - id: note\n    type: transform\n    expression: '"${text}"'\n`;

/** Takes what is accepted; nothing is executed. */
const queue = () => dashboard.app.services.jobs as RunningQueue;
beforeAll(() => queue().start({ kinds: [advanceJob], jobs: [] }));
afterAll(() => queue().stop(1));

/** Types over all that is in the editor. */
async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Definition', exact: true }).focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(text);
}

const focused = (page: Page) => page.evaluate('document.activeElement.ariaLabel');

async function make(name = `Note ${randomUUID()}`): Promise<string> {
  const made = await dashboard.app.run(createWorkflow, { ...site, name, definition: definition('one') });
  return (made as { id: string }).id;
}

test('a workflow is made from YAML that is judged as it is typed, by keyboard', async () => {
  const page = await dashboard.open('/p/acme/site/workflows');
  await page.getByText('No workflows yet').waitFor();
  await expectGoodPage(page);
  await page.getByRole('link', { name: 'New workflow' }).click();
  await page.getByLabel('Name').fill('Release notes');
  await write(page, definition('x').replace('transform', 'transfrm'));
  const fault = page.getByRole('list', { name: 'Faults and warnings' }).getByRole('button');
  await fault.getByText('Line 5, column 11').waitFor();
  expect(await page.locator('.cm-lint-marker-error').count()).toBe(1);
  await expectGoodPage(page);
  await fault.click();
  expect(await focused(page)).toBe('Definition');
  await write(page, definition('x'));
  await page.getByText('The definition is valid').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  expect(await focused(page)).not.toBe('Definition');
  await page.getByRole('button', { name: 'Create' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Release notes' }).waitFor();
  await page.getByRole('link', { name: 'Workflows' }).first().click();
  await page.getByRole('link', { name: 'Release notes' }).waitFor();
});

test('the list is searched, and switches a workflow off', async () => {
  const name = `Search ${randomUUID()}`;
  await make(name);
  await make();
  const page = await dashboard.open('/p/acme/site/workflows', { size: narrow });
  await page.getByRole('searchbox', { name: 'Search workflows' }).fill(name);
  await page.waitForURL('**/workflows?q=*');
  const list = page.getByRole('table', { name: 'Workflows' });
  await expect.poll(() => list.getByRole('row').count()).toBe(2);
  const enabled = page.getByRole('switch', { name: `${name} is enabled` });
  expect(await enabled.isChecked()).toBe(true);
  await page.getByText('Never run').waitFor();
  await enabled.focus();
  await page.keyboard.press('Space');
  await expect.poll(() => enabled.isChecked()).toBe(false);
  await page.reload();
  await enabled.waitFor();
  expect(await enabled.isChecked()).toBe(false);
  await expectGoodPage(page);
  const { Workflows } = await dashboard.statementsOf(page);
  expect(Workflows).toBeLessThanOrEqual(12);
});

test('a definition is saved as the next version, and never over what somebody has saved meanwhile', async () => {
  const workflow = await make();
  const page = await dashboard.open(`/p/acme/site/workflows/${workflow}`);
  const editor = page.getByRole('textbox', { name: 'Definition', exact: true });
  await write(page, definition('mine'));
  await page.getByText('Changed, and not saved yet').waitFor();
  await page.keyboard.press('Control+S');
  await page.getByText('Saved as version 2').waitFor();
  const { WorkflowPage = 99 } = await dashboard.statementsOf(page);
  expect(WorkflowPage).toBeLessThanOrEqual(12);

  await dashboard.app.run(updateWorkflow, { ...site, workflow, definition: definition('theirs') });
  await write(page, definition('mine again'));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Somebody has saved version 3 meanwhile').waitFor();
  await page.getByRole('button', { name: 'Take theirs' }).click();
  await editor.getByText('theirs').waitFor();
  await editor.focus();
  await page.keyboard.press('Control+Z');
  await editor.getByText('mine again').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved as version 4').waitFor();

  await page.getByRole('tab', { name: 'Versions' }).click();
  await page.getByRole('button', { name: 'Use version 3' }).click();
  await page.getByRole('row', { name: /Version 3.*in use/ }).waitFor();
  await expectGoodPage(page);
  await page.getByRole('button', { name: 'Show version 1' }).click();
  await page.getByRole('dialog').getByText('"one"').waitFor();
});

test('leaving with a change that is not saved has to be confirmed', async () => {
  const page = await dashboard.open(`/p/acme/site/workflows/${await make()}`);
  await page.getByRole('textbox', { name: 'Definition', exact: true }).focus();
  await page.keyboard.type('# ');
  await page.getByText('Changed, and not saved yet').waitFor();
  await page.getByRole('tab', { name: 'Secrets' }).click();
  const dialog = page.getByRole('dialog', { name: 'Leave without saving?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Changed, and not saved yet').waitFor();
  await page.getByRole('tab', { name: 'Secrets' }).click();
  await dialog.getByRole('button', { name: 'Leave' }).click();
  await page.getByText('No secrets yet').waitFor();
});

test('a secret is set and deleted, and its value is nowhere to be seen', async () => {
  const page = await dashboard.open(`/p/acme/site/workflows/${await make()}?tab=secrets`);
  await page.getByRole('button', { name: 'New secret' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('API_KEY');
  await dialog.getByLabel('Value').fill('swordfish');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /API_KEY/ }).waitFor();
  expect(await page.content()).not.toContain('swordfish');
  await expectGoodPage(page);
  await page.getByRole('button', { name: 'Delete API_KEY' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No secrets yet').waitFor();
});

test('a workflow is run now with an input, which must be JSON', async () => {
  const page = await dashboard.open(`/p/acme/site/workflows/${await make()}?tab=executions`);
  await page.getByText('It has not run yet').waitFor();
  await page.getByRole('button', { name: 'Run now' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Input (JSON)').fill('{');
  await dialog.getByRole('button', { name: 'Run now' }).click();
  await dialog.getByText('This is not JSON').waitFor();
  await dialog.getByLabel('Input (JSON)').fill('{"a": 1}');
  await dialog.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('row', { name: /By hand/ }).waitFor();
  await expectGoodPage(page);
});

test('a workflow is deleted behind a confirmation', async () => {
  const name = `Gone ${randomUUID()}`;
  const page = await dashboard.open(`/p/acme/site/workflows/${await make(name)}`);
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: 'Delete workflow' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL('**/p/acme/site/workflows');
  await page.getByRole('heading', { name: 'Workflows', exact: true }).waitFor();
  expect(await page.getByRole('link', { name }).count()).toBe(0);
});
