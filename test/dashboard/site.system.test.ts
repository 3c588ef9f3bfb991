import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acme } from '../support/app.ts';
import { expectGoodPage, narrow, withDashboard } from '../support/dashboard.ts';
import { builtSite, workOff } from '../support/deployments.ts';

const builds = mkdtempSync(path.join(tmpdir(), 'portico-builds-'));
chmodSync(builds, 0o711);
const deployments = `${acme}/projects/site/studio/deployments`;
const dashboard = withDashboard({ PORTICO_BUILD_DIR: path.join(builds, 'own') });

/** Prints markup, a character that turns the text around, and escapes, which no log keeps. */
const script = `
console.log('\\u001b[32mgreen\\u001b[0m \\u202eturned <b>bold</b>');
for (let line = 1; line <= 300; line += 1) console.log('line ' + line);
if (process.env.PORTICO_BRANCH !== 'main') throw new Error('made to fail');
const { mkdirSync, writeFileSync } = await import('node:fs');
mkdirSync('dist', { recursive: true });
writeFileSync('dist/index.html', '<h1>Built</h1>');
`;

const work = () => workOff(dashboard.app);

beforeAll(async () => {
  const git = await dashboard.app.repository();
  const changed = Object.entries(builtSite(script)).map(([name, text]) => ({ path: name, content: Buffer.from(text) }));
  await git.write({
    branch: 'main',
    author: { name: 'Seed', email: 'seed@portico.test' },
    plan: async () => ({ changes: changed, message: 'A site', result: null }),
  });
  await git.createBranch('spring', (await git.head('main')) ?? '');
  await dashboard.app.services.studio.moves.settled();
});
afterAll(() => rmSync(builds, { recursive: true, force: true }));

async function makeEnvironment(
  page: Page,
  name: string,
  { branch, atOnce = true }: { branch?: string; atOnce?: boolean } = {},
): Promise<void> {
  await page.getByRole('button', { name: 'New environment' }).click();
  const dialog = page.getByRole('dialog', { name: 'New environment' });
  await dialog.getByLabel('Name').fill(name);
  if (branch) {
    await dialog.getByRole('combobox', { name: 'Shows' }).click();
    await page.getByRole('option', { name: branch }).click();
  }
  await dialog.getByText('No static-site framework was found').waitFor();
  await dialog.getByLabel('Build command').fill('node build.mjs');
  await dialog.getByLabel('Output directory').fill('dist');
  const choice = dialog.getByRole('switch', { name: 'Deploy at once' });
  expect(await choice.isChecked()).toBe(true);
  await choice.setChecked(atOnce, { force: true });
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name, exact: true }).waitFor();
}

const deployIn = (page: Page, name: string) =>
  page
    .getByRole('listitem')
    .filter({ has: page.getByRole('heading', { name, exact: true }) })
    .getByRole('button', { name: 'Deploy' })
    .click();

test('an environment is made and deployed, and its log is read as it is written', async () => {
  const page = await dashboard.open('/p/acme/site/site');
  await page.getByText('The site is not shown anywhere yet').waitFor();
  await expectGoodPage(page);
  await makeEnvironment(page, 'Production', { atOnce: false });
  await page.getByText('Nothing yet. Deploy it to show it.').waitFor();
  await deployIn(page, 'Production');
  await page.getByRole('heading', { name: /^Deployment \d+$/ }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).waitFor();
  await work();
  await page.getByText('live now').waitFor();
  await page.getByRole('tab', { name: /^build/ }).click();
  const log = page.getByRole('region', { name: 'Log of build' });
  await log.getByText('line 300', { exact: true }).waitFor();
  const first = log.getByText('green').first();
  expect(await first.textContent()).toContain('<b>bold</b>');
  expect(await first.textContent()).toContain('U+202E');

  await page.getByRole('searchbox', { name: 'Search the log' }).fill('line 29');
  await page.getByText('1 of 11').waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('2 of 11').waitFor();
  await expectGoodPage(page);
  await page.getByRole('link', { name: 'Site' }).last().click();
  await page.getByRole('button', { name: 'Open Production' }).waitFor();
  await expectGoodPage(page);
});

test('a build that fails says why, keeps what is live, and is begun again', async () => {
  const page = await dashboard.open('/p/acme/site/site', { size: narrow });
  await makeEnvironment(page, 'Spring', { branch: 'spring' });
  await work();
  await deployIn(page, 'Spring');
  await page.getByRole('heading', { name: /^Deployment \d+$/ }).waitFor();
  await work();
  const failure = page.getByRole('alert').filter({ hasText: 'The deployment failed; what was live stays live' });
  expect(await failure.innerText()).toContain('A command ended with an error.');
  await page.getByRole('region', { name: 'Log of build' }).getByText('made to fail').first().waitFor();
  // The job that is shown is one of four, of which two fit.
  const isInSight = async () => {
    const tab = await page.getByRole('tab', { selected: true }).boundingBox();
    return tab && tab.x >= 0 && tab.x + tab.width <= narrow.width;
  };
  await expect.poll(isInSight).toBe(true);
  await expectGoodPage(page);
  const before = page.url();
  await page.getByRole('button', { name: 'Deploy again' }).click();
  await page.waitForURL((url) => url.href !== before);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Deploy again' }).waitFor();
});

test('a version that is under way or live is deployed again only on demand', async () => {
  const page = await dashboard.open('/p/acme/site/site');
  await makeEnvironment(page, 'Twice');
  const card = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'Twice', exact: true }) });
  const first = (await card.getByRole('link', { name: /^Deployment \d+$/ }).innerText()).replace(/\D/g, '');
  const rows = async () => (await dashboard.app.ask('GET', `${deployments}?per_page=1`)).headers.get('x-total-count');
  const before = await rows();
  await deployIn(page, 'Twice');
  const underWay = page.getByRole('dialog', { name: `Deployment ${first} of this version is under way` });
  await underWay.waitFor();
  await expectGoodPage(page);
  await underWay.getByRole('button', { name: `Show deployment ${first}` }).click();
  await page.getByRole('heading', { name: `Deployment ${first}` }).waitFor();
  expect(await rows()).toBe(before);
  await work();
  await page.getByText('live now').waitFor();

  await page.getByRole('link', { name: 'Site' }).last().click();
  await deployIn(page, 'Twice');
  const live = page.getByRole('dialog', { name: 'This version is live already' });
  await live.getByRole('button', { name: 'Deploy again' }).click();
  await page.getByRole('heading', { name: `Deployment ${Number(first) + 1}` }).waitFor();
  expect(await rows()).toBe(String(Number(before) + 1));
  await work();
});

test('a build command that is typed before the files of the branch are known stays', async () => {
  const page = await dashboard.open('/account');
  const held = Promise.withResolvers<void>();
  await page.route('**/graphql', async (route) => {
    if (/mutation FindFramework\b/.test(route.request().postData() ?? '')) await held.promise;
    await route.fallback();
  });
  await page.goto(`${dashboard.app.url}/p/acme/site/site?new=true`);
  const dialog = page.getByRole('dialog', { name: 'New environment' });
  await dialog.and(page.locator(':focus-within')).waitFor();
  await dialog.getByLabel('Build command').fill('node build.mjs');
  held.resolve();
  await dialog.getByText('No static-site framework was found').waitFor();
  expect(await dialog.getByLabel('Build command').inputValue()).toBe('node build.mjs');
});

test('the pages cost at most 12 statements', async () => {
  const page = await dashboard.open('/p/acme/site/site');
  await page.getByRole('table', { name: 'Deployments' }).getByRole('link').first().click();
  await page.getByRole('heading', { name: /^Deployment \d+$/ }).waitFor();
  const { Site, DeploymentPage } = await dashboard.statementsOf(page);
  expect([Site, DeploymentPage].map((count = 0) => count > 0 && count <= 12)).toEqual([true, true]);
});
