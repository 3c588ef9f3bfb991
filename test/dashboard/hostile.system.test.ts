import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { createTrigger } from '../../src/domain/workflows/triggers/triggers.operations.ts';
import { createWorkflow } from '../../src/domain/workflows/workflows.operations.ts';
import { acme, seed, studio } from '../support/app.ts';
import { makePerson } from '../support/browser.ts';
import { withDashboard } from '../support/dashboard.ts';
import { siteFiles } from '../support/site-files.ts';

const dashboard = withDashboard();
/** Markup that would run, in names that may hold anything, and as far as names of branches and files go. */
const evil = '"><img src=x onerror=window.ran=1><svg onload=window.ran=1>{{7*7}}${7*7}';
const branch = 'a"><img/src=x/onerror=window.ran=1>';
const file = 'a"><img src=x onerror=window.ran=1>.txt';
const link = '[x](javascript:window.ran=1) <a href="javascript:window.ran=1">y</a> <script>window.ran=1</script>';

/** What stands in braces in an address. */
const known: Record<string, string> = { branch: encodeURIComponent(branch), file: encodeURIComponent(file) };

beforeAll(async () => {
  const { app } = dashboard;
  const quoted = JSON.stringify(evil);
  await seed(app, {
    ...siteFiles,
    'src/content/posts/en/evil.md': `---\ntitle: ${JSON.stringify(evil.slice(0, 80))}\ntags: [${quoted}]\nauthor: ada\n${quoted}: 1\n---\n\n${evil}\n\n${link}\n`,
    'src/content/authors/evil.yaml': `name: ${quoted}\n`,
    [`notes/${file}`]: `${evil}\n`,
    [`public/${file.replace('.txt', '.svg')}`]: `<svg xmlns="http://www.w3.org/2000/svg" onload="window.ran=1"><script>window.ran=1</script></svg>`,
    '.decap.yml': 'backend: {name: git-gateway}\n',
  });
  const made = async (path: string, body: object) => {
    const answer = await app.ask('POST', path, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  };
  await app.ask('PATCH', acme, { body: { name: evil } });
  await app.ask('PATCH', `${acme}/projects/site`, { body: { name: evil } });
  await made(`${studio}/branches`, { name: branch, from: 'main' });
  const entry = await app.ask('PUT', `${studio}/collections/posts/en/evil?branch=${encodeURIComponent(branch)}`, {
    body: { body: `${link}\n\n${evil}\n`, message: evil },
  });
  expect(entry.status, JSON.stringify(entry.body)).toBe(200);
  known.pull = (
    await made(`${studio}/pulls`, { title: evil, body: `${evil} ${link}`, head: branch, base: 'main' })
  ).number;
  known.environment = (
    await made(`${studio}/environments`, { name: evil.slice(0, 60), branch, provider: 'static' })
  ).id;
  known.deployment = (await made(`${studio}/deployments`, { environment_id: known.environment })).id;
  const site = { organization: 'acme', project: 'site' };
  const definition = `portico: workflow/1\ndescription: ${quoted}\nsteps:\n  - {id: a, type: output, value: "1"}\n`;
  const workflow = (await app.run(createWorkflow, { ...site, name: evil, description: evil, definition })) as {
    id: string;
  };
  known.workflow = workflow.id;
  const trigger = (await app.run(createTrigger, { ...site, workflow: workflow.id, type: 'webhook' })) as { id: string };
  known.trigger = trigger.id;
  await app.run(createTrigger, { ...site, workflow: workflow.id, type: 'cron', schedule_cron_string: '0 0 * * *' });
  await made(`${acme}/tokens`, { name: evil, permissions: ['browse_studio'] });
  const id = await makePerson(app, { email: 'evil@example.org', role: 'editor' });
  await app.services.orm.em.fork().execute('update "user" set name = ? where id = ?', [evil, id]);
  await app.services.studio.moves.settled();
});

/** Every page that shows names of others, with a text that it shows when it has all of them. */
const pages: [address: string, shows: string][] = [
  ['/', evil],
  ['/account', 'Account'],
  ['/o/acme', evil],
  ['/o/acme?tab=members', evil],
  ['/o/acme?tab=tokens', evil],
  ['/o/acme?tab=audit', 'Audit'],
  ['/o/acme?tab=settings', 'acme'],
  ['/p/acme/site', evil],
  ['/p/acme/site/content', 'Posts'],
  ['/p/acme/site/content/posts', evil.slice(0, 80)],
  ['/p/acme/site/content?q=onerror', evil.slice(0, 80)],
  ['/p/acme/site/content/authors', evil],
  ['/p/acme/site/content/posts/en/evil', evil.slice(0, 80)],
  ['/p/acme/site/content/posts/en/evil?draft={branch}', branch],
  ['/p/acme/site/new/posts', 'Posts'],
  ['/p/acme/site/media', 'onerror'],
  ['/p/acme/site/media/deleted', 'Deleted'],
  ['/p/acme/site/drafts', branch],
  ['/p/acme/site/drafts?tab=reviews', evil],
  ['/p/acme/site/drafts/changes?draft={branch}', branch],
  ['/p/acme/site/drafts/reviews/{pull}', evil],
  ['/p/acme/site/files', 'notes'],
  ['/p/acme/site/files/notes', file],
  ['/p/acme/site/files/notes?file={file}', evil],
  ['/p/acme/site/site', branch],
  ['/p/acme/site/site/environments/{environment}', branch],
  ['/p/acme/site/site/deployments/{deployment}', evil],
  ['/p/acme/site/workflows', evil],
  ['/p/acme/site/workflows/{workflow}', evil],
  ['/p/acme/site/workflows/{workflow}?tab=history', evil],
  ['/p/acme/site/workflows/{workflow}/triggers/{trigger}', evil],
  ['/p/acme/site/settings', 'Settings'],
];
const filled = (address: string) => address.replace(/\{(\w+)\}/g, (_, name) => known[name] ?? '');

/** What a page has that can only be of the markup in a name. */
const injected = `[
  ...document.querySelectorAll('img[src="x"], svg[onload], [onerror], a[href^="javascript:" i], script:not([src])'),
].map((one) => one.outerHTML).concat(window.ran === undefined ? [] : ['ran'], document.body.innerText.includes('}49') ? ['computed'] : [])`;

async function expectText(page: Page, text: string): Promise<void> {
  await page.locator('main h1, h1').first().waitFor();
  const isShown = `[document.title, document.body.innerText, ...[...document.querySelectorAll('input, textarea')].map((one) => one.value), ...[...document.querySelectorAll('[title], [aria-label], [alt]')].flatMap((one) => [one.title, one.ariaLabel, one.alt])].join('\\n').replace(/\\s+/g, ' ').includes(${JSON.stringify(text.replace(/\s+/g, ' '))})`;
  await expect.poll(() => page.evaluate(isShown)).toBe(true);
}

test.each(pages)('markup in names is text at %s', async (address, shows) => {
  const page = await dashboard.open(filled(address));
  await expectText(page, shows);
  expect(await page.evaluate(injected)).toEqual([]);
});
