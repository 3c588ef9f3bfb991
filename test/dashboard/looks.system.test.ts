/** Every page with content that is hard to show: in German, on a telephone, in both themes, and with names that do not fit. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import germanEntry from '../../src/dashboard/messages/de/entry.ts';
import { inside as germanInside } from '../../src/dashboard/messages/de/inside.ts';
import { outside as germanOutside } from '../../src/dashboard/messages/de/outside.ts';
import germanWorkflows from '../../src/dashboard/messages/de/workflows.ts';
import entry from '../../src/dashboard/messages/en/entry.ts';
import { inside } from '../../src/dashboard/messages/en/inside.ts';
import { outside } from '../../src/dashboard/messages/en/outside.ts';
import workflows from '../../src/dashboard/messages/en/workflows.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { acme, seed, studio } from '../support/app.ts';
import { commitTo, makeBranch } from '../support/conflict-site.ts';
import { expectGoodPage, expectTexts, narrow, withDashboard } from '../support/dashboard.ts';
import { siteFiles } from '../support/site-files.ts';

const dashboard = withDashboard();
const site = '/p/acme/site';
const bare = '/p/acme/bare';
const workflowsPath = `${acme}/projects/site/workflows`;

/** Without a place where it could break. */
const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerk'.repeat(6);
const arabic = 'مرحبا بالعالم: حديقة الشتاء في المدينة القديمة';
const turned = `${arabic} \u202eexe.gpj\u202c`;
const postOf = (title: string) => `---\ntitle: ${JSON.stringify(title)}\nauthor: ada\n---\n\n${title}\n`;
const branch = `feature/${'a-long-name-'.repeat(15)}x`;

let workflow = '';
let trigger = '';
let environment = '';

async function make(path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await dashboard.app.ask('POST', path, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body as Record<string, unknown>;
}

beforeAll(async () => {
  await seed(dashboard.app, {
    ...siteFiles,
    'src/content/posts/en/long.md': postOf(long),
    'src/content/posts/en/rtl.md': postOf(arabic),
    'src/content/posts/en/turned.md': postOf(turned),
    'src/content/posts/en/broken.md': '---\ntitle: [\n---\n',
    [`public/${'picture-with-a-long-name-'.repeat(6)}.svg`]: '<svg xmlns="http://www.w3.org/2000/svg"/>',
  });
  await makeBranch(dashboard.app, branch);
  await commitTo(dashboard.app, branch, { 'src/content/posts/en/rtl.md': postOf(long) });
  await make(`${studio}/pulls`, { title: long.slice(0, 290), head: branch, body: `${arabic}\n\n${long}` });
  environment = String((await make(`${studio}/environments`, { name: long.slice(0, 100), branch: 'main' })).id);
  const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';
  workflow = String((await make(workflowsPath, { name: long.slice(0, 190), description: arabic, definition })).id);
  trigger = String((await make(`${workflowsPath}/${workflow}/triggers`, { type: 'webhook' })).id);
  await make(`${acme}/members`, { email: `${'somebody-with-a-long-name'.repeat(2)}@example.org`, role: 'editor' });
  await dashboard.app.run(createProject, { organization: 'acme', name: long.slice(0, 190), machine_name: 'bare' });
});

const reader = { email: 'reader@example.org', role: 'readonly' } as const;

/** Name of a page → its address, a text it shows in German, and who sees it; without that an owner. */
const pages: Record<string, readonly [address: () => string, text: string, visitor?: typeof reader]> = {
  account: [() => '/account', 'Tastenkürzel'],
  projects: [() => '/o/acme', 'Neues Projekt'],
  members: [() => '/o/acme?tab=members', 'Einladen'],
  tokens: [() => '/o/acme?tab=tokens', 'Neues Token'],
  'the audit log': [() => '/o/acme?tab=audit', 'Exportieren'],
  'the settings of an organisation': [() => '/o/acme?tab=settings', 'Kurzname'],
  home: [() => site, 'Was auf Sie wartet'],
  content: [() => `${site}/content`, 'Sammlung'],
  'found entries': [() => `${site}/content?q=Alpha`, 'Alpha'],
  'a collection': [() => `${site}/content/posts`, 'Neuer Eintrag'],
  'invalid entries': [() => `${site}/content/posts?invalid=true`, 'Nicht lesbar'],
  'an entry': [() => `${site}/content/posts/en/long`, 'Nichts zu speichern'],
  'an entry that cannot be read': [() => `${site}/content/posts/en/broken`, 'Nichts zu speichern'],
  'a new entry': [() => `${site}/new/posts`, 'Ohne Titel'],
  media: [() => `${site}/media`, 'Hochladen'],
  'deleted files of media': [() => `${site}/media/deleted`, 'Gelöschte Dateien'],
  files: [() => `${site}/files`, 'Alle Dateien'],
  'a file': [() => `${site}/files/src?file=content.config.ts`, 'Herunterladen'],
  drafts: [() => `${site}/drafts`, 'Neuer Entwurf'],
  reviews: [() => `${site}/drafts?tab=reviews`, 'Prüfungen (1)'],
  'what a draft changes': [() => `${site}/drafts/changes?draft=${branch}`, 'Versionen'],
  'a review': [() => `${site}/drafts/reviews/1`, 'Ohne Veröffentlichung schließen'],
  environments: [() => `${site}/site`, 'Bereitstellen'],
  'an environment': [() => `${site}/site/environments/${environment}`, 'Allgemein'],
  'a deployment': [() => `${site}/site/deployments/1`, 'Bereitstellung 1'],
  workflows: [() => `${site}/workflows`, 'Neuer Ablauf'],
  'a new workflow': [() => `${site}/workflows/new`, 'Die Definition ist gültig'],
  'a definition': [() => `${site}/workflows/${workflow}`, 'Die Definition ist gültig'],
  triggers: [() => `${site}/workflows/${workflow}?tab=triggers`, 'Neuer Auslöser'],
  'versions of a workflow': [() => `${site}/workflows/${workflow}?tab=versions`, 'Version 1'],
  'executions of a workflow': [() => `${site}/workflows/${workflow}?tab=executions`, 'Er ist noch nicht gelaufen'],
  'secrets of a workflow': [() => `${site}/workflows/${workflow}?tab=secrets`, 'Geheimnis'],
  'a trigger': [() => `${site}/workflows/${workflow}/triggers/${trigger}`, 'Erneuern'],
  'settings of a project': [() => `${site}/settings`, 'Geschützte Branches'],
  'a collection that is not there': [() => `${site}/content/nothing`, 'Hier ist nichts'],
  'a page that is not there': [() => `${site}/workflows/nothing`, 'Hier ist nichts'],
  'a new project': [() => bare, 'Dieses Projekt ist leer'],
  'content of a new project': [() => `${bare}/content`, 'noch keine Sammlungen'],
  'media of a new project': [() => `${bare}/media`, 'Hochladen'],
  'files of a new project': [() => `${bare}/files`, 'noch keine Dateien'],
  'drafts of a new project': [() => `${bare}/drafts`, 'keine Entwürfe'],
  'reviews of a new project': [() => `${bare}/drafts?tab=reviews`, 'Keine Prüfung'],
  'the site of a new project': [() => `${bare}/site`, 'Neue Umgebung'],
  'the form of a new environment': [() => `${bare}/site?new=true`, 'Gezeigt von'],
  'workflows of a new project': [() => `${bare}/workflows`, 'Neuer Ablauf'],
  'a new project to a reader': [() => bare, 'Dieses Projekt ist leer', reader],
  'an entry to a reader': [() => `${site}/content/posts/en/long`, 'Sie dürfen hier lesen', reader],
  'a new entry to a reader': [() => `${site}/new/posts`, 'Sie dürfen hier lesen', reader],
  'settings to a reader': [() => `${site}/settings`, 'Sie sehen diese Einstellungen', reader],
};

const english = { ...outside, ...inside, entry, workflows };
const germanTexts = { ...germanOutside, ...germanInside, germanEntry, germanWorkflows };
const textsOf = (catalogue: object): string[] =>
  Object.values(catalogue).flatMap((texts: Record<string, string>) => Object.values(texts));

/** Texts of more than one word that German says otherwise: none of them may be a line of a German page. */
const onlyEnglish = (() => {
  const german = new Set(textsOf(germanTexts));
  return new Set(textsOf(english).filter((text) => / /.test(text) && !text.includes('{{') && !german.has(text)));
})();

/** What stands where a text is missing. */
const keys = new Set(
  Object.entries(english).flatMap(([namespace, texts]) =>
    Object.keys(texts).flatMap((key) => [`${namespace}:${key}`, ...(key.includes('_') ? [key] : [])]),
  ),
);

const complete = (page: Page) => expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);

test.each(Object.entries(pages))('%s is all German, and good on a telephone in both themes', async (_name, target) => {
  const [address, text, visitor] = target;
  const page = await dashboard.open(address(), { size: narrow, language: 'de', ...visitor });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await complete(page);
  await page.getByText(text).first().waitFor();
  const lines = (await page.locator('body').innerText()).split('\n').map((line) => line.trim());
  expect(lines.filter((line) => onlyEnglish.has(line) || keys.has(line))).toEqual([]);
  await expectGoodPage(page);
});

const outsidePages = [
  ['/sign-in', 'Mit der E-Mail-Adresse'],
  ['/setup', 'Dieser Server hat schon'],
  ['/join', 'Diese Adresse ist unvollständig'],
  ['/join#secret', 'Sie wurden eingeladen'],
  ['/reset#secret', 'Ein neues Passwort wählen'],
] as const;

test('the pages for people who are not signed in are all German, and good on a telephone in both themes', async () => {
  const page = await dashboard.open('/sign-in', { email: null, size: narrow });
  await page.evaluate("localStorage.setItem('portico:language', 'de')");
  for (const [address, text] of outsidePages) {
    // Another page each time: what follows # alone loads none.
    await page.goto('about:blank');
    await page.goto(`${dashboard.app.url}${address}`);
    await expectTexts(page, 'de', text);
    await expectGoodPage(page);
  }
});

test('a text from the right stands as its language does, in the list and in its entry, and what turns it is a mark', async () => {
  const page = await dashboard.open(`${site}/content/posts`);
  const link = page.getByRole('link', { name: arabic, exact: true });
  await link.waitFor();
  const directionOf = (selector: string) =>
    page.evaluate(
      `getComputedStyle([...document.querySelectorAll(${JSON.stringify(selector)})]
        .find(({ textContent, value }) => [textContent, value].includes(${JSON.stringify(arabic)}))).direction`,
    );
  expect(await directionOf('main td a bdi')).toBe('rtl');
  const marked = page.getByRole('row').filter({ hasText: 'exe.gpj' });
  await marked.getByText('U+202E').waitFor();
  await marked.getByText('U+202C').waitFor();
  await link.click();
  await page.getByRole('heading', { level: 1, name: arabic }).waitFor();
  expect(await directionOf('h1')).toBe('rtl');
  expect(await page.getByRole('textbox', { name: 'Title' }).inputValue()).toBe(arabic);
  expect(await directionOf('input')).toBe('rtl');
  await page.locator('.cm-line', { hasText: arabic }).waitFor();
  await expectGoodPage(page);
});
