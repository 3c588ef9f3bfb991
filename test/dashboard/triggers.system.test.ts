import { createHmac, randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { advanceJob } from '../../src/domain/workflows/advance-job.ts';
import { createTrigger } from '../../src/domain/workflows/triggers/triggers.operations.ts';
import { createWorkflow } from '../../src/domain/workflows/workflows.operations.ts';
import type { RunningQueue } from '../../src/jobs/queue.ts';
import { goodPassword } from '../support/browser.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();
const site = { organization: 'acme', project: 'site' };
const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';
let workflow: string;

/** Takes what is accepted; nothing is executed. */
const queue = () => dashboard.app.services.jobs as RunningQueue;

beforeAll(() => queue().start({ kinds: [advanceJob], jobs: [] }));
afterAll(() => queue().stop(1));
beforeEach(async () => {
  dashboard.app.clock.now = null;
  const made = await dashboard.app.run(createWorkflow, { ...site, name: `Note ${randomUUID()}`, definition });
  workflow = (made as { id: string }).id;
});

const at = () => `/p/acme/site/workflows/${workflow}`;
const wait = (minutes: number) => {
  const { clock } = dashboard.app;
  clock.now = new Date((clock.now ?? new Date()).getTime() + minutes * 60_000);
};

/** What a code-hosting service sends. */
async function deliver(secret: string, event: string, body = `{"zen":"${event}"}`): Promise<Response> {
  return fetch(`${dashboard.app.url}/webhooks/ai/workflows/${workflow}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'X-GitHub-Event': event,
      'X-GitHub-Delivery': randomUUID(),
      'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
    body,
  });
}

const shownSecret = async (page: Page): Promise<string> => {
  const code = page.getByText(/whk_\w{46}/);
  await code.waitFor();
  return /whk_\w{46}/.exec(await code.innerText())?.[0] ?? '';
};

async function reveal(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Reveal' }).click();
  return shownSecret(page);
}

async function rotate(page: Page, grace: string): Promise<string> {
  await page.getByRole('button', { name: 'Rotate' }).click();
  const dialog = page.getByRole('dialog', { name: 'Make a new secret?' });
  await dialog.getByText(`/webhooks/ai/workflows/${workflow}`).waitFor();
  await dialog.getByRole('combobox', { name: 'The present secret stays good' }).click();
  await page.getByRole('option', { name: grace }).click();
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByText('This is the new secret.').waitFor();
  return shownSecret(page);
}

async function openTrigger(size?: typeof narrow): Promise<Page> {
  const made = await dashboard.app.run(createTrigger, { ...site, workflow, type: 'webhook', auth_mode: 'hmac' });
  const options = size === undefined ? {} : { size };
  const page = await dashboard.open(`${at()}/triggers/${(made as { id: string }).id}`, options);
  await page.getByRole('heading', { name: 'Webhook', exact: true }).waitFor();
  return page;
}

test('a signed webhook is made, its ping is seen arriving, and it is rotated at once', async () => {
  const page = await dashboard.open(`${at()}?tab=triggers`);
  await page.getByRole('button', { name: 'New trigger' }).click();
  await page.getByRole('radio', { name: 'hmac' }).check();
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('No call has been accepted yet.').waitFor();
  expect(await page.getByText(/whk_/).count()).toBe(0);
  const address = page.getByText(`/webhooks/ai/workflows/${workflow}`);
  expect(await address.count()).toBeGreaterThan(0);
  await page.getByText('application/json').waitFor();

  const old = await reveal(page);
  expect((await deliver(old, 'ping')).status).toBe(202);
  const deliveries = page.getByRole('table', { name: 'Deliveries' });
  await deliveries.getByText('ping', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Hide' }).click();
  expect(await page.getByText(/whk_/).count()).toBe(0);

  const next = await rotate(page, 'Not at all');
  expect(next).not.toBe(old);
  const refused = await deliver(old, 'pull_request');
  expect([refused.status, await refused.json()]).toEqual([401, { error: 'Unauthorized' }]);
  expect((await deliver(next, 'pull_request')).status).toBe(202);
  await deliveries.getByText('pull_request', { exact: true }).waitFor();
  await page.getByText('Wrong or missing signature').first().waitFor();
});

test('during a grace both secrets are good, and after it only the new one', async () => {
  const page = await openTrigger();
  const old = await reveal(page);
  const next = await rotate(page, 'For 1 hour');
  await page.getByText('Two secrets are good').waitFor();
  await page.getByText('It has not been used since.').waitFor();
  expect((await deliver(old, 'push')).status).toBe(202);
  expect((await deliver(next, 'push')).status).toBe(202);
  await page.getByText('It was last used').waitFor();
  wait(61);
  expect((await deliver(old, 'push')).status).toBe(401);
  expect((await deliver(next, 'push')).status).toBe(202);
});

test('a grace is ended before its time', async () => {
  const page = await openTrigger();
  const old = await reveal(page);
  await rotate(page, 'For 7 days');
  await page.getByRole('button', { name: 'End now' }).click();
  await page.getByText('Two secrets are good').waitFor({ state: 'hidden' });
  expect((await deliver(old, 'push')).status).toBe(401);
});

test('the secret is shown only after a recent proof of who one is', async () => {
  const page = await openTrigger();
  wait(11);
  await page.getByRole('button', { name: 'Reveal' }).click();
  const dialog = page.getByRole('dialog', { name: 'Confirm your password' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await page.getByText(/whk_/).count()).toBe(0);
  await page.getByRole('button', { name: 'Reveal' }).click();
  await dialog.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
  await dialog.getByRole('button', { name: 'Continue' }).click();
  expect(await shownSecret(page)).toMatch(/^whk_/);
});

test('a delivery shows its headers without credentials and its body, and is sent again', async () => {
  const page = await openTrigger();
  const secret = await reveal(page);
  await deliver(secret, 'push', '{"ref":"refs/heads/main","commits":[{"id":"<img src=x onerror=alert(1)>"}]}');
  await page.getByRole('button', { name: 'Show delivery push' }).click();
  const delivery = page.getByRole('dialog', { name: 'Delivery' });
  await delivery.getByText('"ref": "refs/heads/main"').waitFor();
  await delivery.getByText('<img src=x onerror=alert(1)>').waitFor();
  expect(await delivery.getByText('[redacted]').count()).toBe(1);
  await expectGoodPage(page);
  await delivery.getByRole('button', { name: 'Send again' }).click();
  await delivery.getByText(/Started execution [0-9a-f-]{36}/).waitFor();
  await delivery.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('table', { name: 'Deliveries' }).getByText('Sent again').waitFor();
});

test('a schedule names its next times, and a wrong one says what is wrong beside the field', async () => {
  const page = await dashboard.open(`${at()}?tab=triggers`);
  await page.getByRole('button', { name: 'New trigger' }).click();
  await page.getByRole('radio', { name: 'Schedule' }).check();
  await page.getByLabel('Times (cron)').fill('61 * * * *');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('textbox', { name: 'Times (cron)' }).and(page.locator('[aria-invalid=true]')).waitFor();
  await page.getByLabel('Times (cron)').fill('0 6 * * *');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Next times').waitFor();
  await expectGoodPage(page);
});

test('the page of a webhook is good in both themes and at three widths, and costs at most 12 statements', async () => {
  const page = await openTrigger(narrow);
  await reveal(page);
  await expectGoodPage(page);
  const { TriggerPage, Deliveries } = await dashboard.statementsOf(page);
  expect([TriggerPage, Deliveries].map((count = 0) => count > 0 && count <= 12)).toEqual([true, true]);
});

test('a person who only edits workflows sees no button for the secret', async () => {
  const made = await dashboard.app.run(createTrigger, { ...site, workflow, type: 'webhook', auth_mode: 'hmac' });
  const path = `${at()}/triggers/${(made as { id: string }).id}`;
  const page = await dashboard.open(path, { email: 'eve@example.org', role: 'editor' });
  await page.getByText('Only people who manage workflows can see or replace it.').waitFor();
  expect(await page.getByRole('button', { name: 'Reveal' }).count()).toBe(0);
});
