import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { importJob } from '../../src/domain/studio/repository/import-repository.ts';
import { importJobFor } from '../../src/jobs/job-handlers.ts';
import { acme, seed } from '../support/app.ts';
import { post } from '../support/conflict-site.ts';
import { expectGoodPage, expectTexts, narrow, withDashboard } from '../support/dashboard.ts';
import { editorReady, save as saveEntry, titleField } from '../support/entry-editor.ts';
import { signIn } from '../support/git-http.ts';
import { save } from '../support/git-store.ts';
import { hostRoot, upstreamHost } from '../support/mirror.ts';

const roots = mkdtempSync(path.join(tmpdir(), 'portico-roots-'));
const PORTICO_CA_FILE = path.join(roots, 'ca.pem');
writeFileSync(PORTICO_CA_FILE, hostRoot);
const dashboard = withDashboard({ PORTICO_CA_FILE, PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
afterAll(() => rmSync(roots, { recursive: true, force: true }));

const make = (name: string) => dashboard.app.run(createProject, { organization: 'acme', name, machine_name: name });
const region = (page: Page, name: string) => page.getByRole('region', { name });

/** Imports that pages have begun: the application of a test has no worker. */
const begun: unknown[] = [];
beforeAll(() => {
  dashboard.app.services.jobs.send = async (kind, payload) => {
    if (kind.name === importJob.name) begun.push(payload);
  };
});

/** Does what a worker does with them. */
async function workOnImports(): Promise<void> {
  for (const payload of begun.splice(0))
    await importJobFor(dashboard.app.services).handle(importJob.payload.parse(payload), AbortSignal.timeout(60_000));
}

const site = {
  'hugo.toml': 'baseURL = "https://example.org/"\n[permalinks]\nposts = "/:year/:slug/"\n',
  'content/posts/one.md': post({ title: 'One', draft: false, tags: ['a'] }),
  'content/posts/two.md': post({ title: 'Two', draft: false, tags: ['b'] }),
};

describe('import', () => {
  test('a repository that requires credentials is imported, and its progress followed', async () => {
    await make('wanted');
    const host = await upstreamHost();
    await save(host.repository, site);
    host.rules.guard = signIn('x-access-token:s3cret');
    const page = await dashboard.open('/p/acme/wanted/settings');
    const repository = region(page, 'Repository');
    await repository.getByLabel('Repository to import').fill('http://127.0.0.1/site.git');
    await repository.getByRole('button', { name: 'Import' }).click();
    await repository.getByText('Must be https://host/path or ssh://account@host/path.').waitFor();
    await expectGoodPage(page);

    await repository.getByLabel('Repository to import').fill(host.url);
    await repository.getByRole('combobox', { name: 'Credentials' }).click();
    await page.getByRole('option', { name: 'Token' }).click();
    await repository.getByRole('textbox', { name: 'Token' }).fill('wrong');
    await repository.getByRole('button', { name: 'Import' }).click();
    await repository.getByText('It begins in a moment.').waitFor();
    await workOnImports();
    await repository.getByRole('alert').getByText(`Importing ${host.url} failed`).waitFor();

    await repository.getByRole('textbox', { name: 'Token' }).fill('s3cret');
    await repository.getByRole('button', { name: 'Import' }).click();
    await repository.getByText('It begins in a moment.').waitFor();
    // Left, and come back to.
    await page.reload();
    await repository.getByText('It begins in a moment.').waitFor();
    expect(await repository.getByRole('button', { name: 'Import' }).isVisible()).toBe(false);
    await workOnImports();
    await region(page, 'Collections').getByText('content/posts').first().waitFor();
    await repository.getByLabel('Repository to import').waitFor({ state: 'detached' });
  });
});

test('an import that fails is tried again from the tray, with its credentials, and the page follows', async () => {
  await make('again');
  const host = await upstreamHost();
  await save(host.repository, site);
  host.rules.guard = signIn('x-access-token:another');
  const page = await dashboard.open('/p/acme/again/settings');
  const repository = region(page, 'Repository');
  await repository.getByLabel('Repository to import').fill(host.url);
  await repository.getByRole('combobox', { name: 'Credentials' }).click();
  await page.getByRole('option', { name: 'Token' }).click();
  await repository.getByRole('textbox', { name: 'Token' }).fill('s3cret');
  await repository.getByRole('button', { name: 'Import' }).click();
  await repository.getByText('It begins in a moment.').waitFor();
  await workOnImports();
  // What the page says of this try is not taken for what it says of the next.
  await repository.getByRole('alert').waitFor();
  await page.getByRole('button', { name: '1 task has failed' }).click();
  host.rules.guard = signIn('x-access-token:s3cret');
  await page.getByRole('button', { name: 'Try again' }).click();
  await repository.getByText('It begins in a moment.').waitFor();
  await workOnImports();
  await region(page, 'Collections').getByText('content/posts').first().waitFor();
  await page.getByRole('button', { name: '1 task has ended' }).waitFor();
});

test('an import that hangs is cancelled in the tray, and one that waits on its page', async () => {
  await make('hangs');
  const host = await upstreamHost();
  await save(host.repository, site);
  host.rules.guard = ({ method }) => method === 'POST';
  const page = await dashboard.open('/p/acme/hangs/settings');
  const repository = region(page, 'Repository');
  await repository.getByLabel('Repository to import').fill(host.url);
  await repository.getByRole('button', { name: 'Import' }).click();
  await repository.getByText('It begins in a moment.').waitFor();
  const work = workOnImports();
  await expect.poll(() => host.requests).toContain('POST git-upload-pack');
  await page.getByRole('button', { name: '1 task is running' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByText('Cancelled').first().waitFor();
  await work;
  await page.keyboard.press('Escape');
  await repository.getByRole('alert').getByText('The import was cancelled').waitFor();

  await repository.getByRole('button', { name: 'Import' }).click();
  await repository.getByText('It begins in a moment.').waitFor();
  await expectGoodPage(page);
  await repository.getByRole('button', { name: 'Cancel' }).click();
  await repository.getByRole('alert').getByText('The import was cancelled').waitFor();
  await repository.getByRole('button', { name: 'Import' }).waitFor();
});

/** Posts as people write them; `{}` is where the title stands. */
const written: Record<string, string> = {
  plain: '---\ntitle: {}\ndate: 2026-03-01\n---\n\nText.\n',
  quoted: '---\n# What readers see first.\ntitle: "{}"   # quoted on purpose\ntags: [one,   two]\n---\n\nText.\n',
  single: "---\ntitle: '{}'\ndescription: >-\n  Folded\n  text.\n---\nText without an empty line above.\n",
  crlf: '---\r\ntitle: {}\r\ndraft: false\r\n---\r\n\r\nText.\r\n',
  unended: '---\ntitle: {}\n---\n\nText without an end',
  spaced: '---\ntitle:    {}\nlist:\n    - a\n    -   b\n---\n\n\n\nText.   \n\n',
  marked: '\ufeff---\ntitle: {}\n---\n\nText.\n',
  anchors: '---\nbase: &base\n  a: 1\nother: *base\ntitle: {}\n---\n\nText.\n',
  flow: '---\ntitle: {}\nflow: { a: 1,   b: 2 }\n---\n\n\tCode.\n',
  unknown: '---\nx_legacy: ~\ntitle: {}\nwhen: 2026-01-01 10:00:00 +01:00\n---\n\nText & more.\n',
};

test('edits in the form of what was imported change nothing but what was edited', async () => {
  await make('written');
  const host = await upstreamHost();
  const files = Object.entries(written).map(([slug, text]) => [
    `content/posts/${slug}.md`,
    text.replace('{}', 'Before'),
  ]);
  await save(host.repository, { 'hugo.toml': 'baseURL = "https://example.org/"\n', ...Object.fromEntries(files) });
  const page = await dashboard.open('/p/acme/written/settings');
  const repository = region(page, 'Repository');
  await repository.getByLabel('Repository to import').fill(host.url);
  await repository.getByRole('button', { name: 'Import' }).click();
  await repository.getByText('It begins in a moment.').waitFor();
  await workOnImports();
  await region(page, 'Collections').getByText('content/posts').first().waitFor();
  const posts = `${acme}/projects/written/studio/collections/posts`;
  for (const [slug, text] of Object.entries(written)) {
    await page.goto(`${dashboard.app.url}/p/acme/written/content/posts/${slug}`);
    await editorReady(page);
    await titleField(page).fill('After');
    await saveEntry(page);
    const { body } = await dashboard.app.ask('GET', `${posts}/${slug}?raw=true`);
    expect(body.raw).toBe(text.replace('{}', 'After'));
  }
});

describe('what was found', () => {
  test('collections and addresses are shown, found again, and kept', async () => {
    await make('found');
    await seed(dashboard.app, site, 'found');
    const page = await dashboard.open('/p/acme/found/settings');
    await region(page, 'Collections').getByText('Inferred from entries').first().waitFor();
    const addresses = region(page, 'Addresses');
    await addresses.getByText('None saved').waitFor();
    await addresses.getByRole('button', { name: 'Detect addresses' }).click();
    await addresses.getByText('Found: hugo').waitFor();
    const found = await addresses.getByRole('listitem').first().innerText();
    expect(found).toMatch(/^\/.*\{\w+\}/);
    await addresses.getByRole('list', { name: 'Matches' }).getByText('content/posts/one.md').waitFor();
    await addresses.getByRole('button', { name: 'Save these' }).click();
    await page.getByText('Entries have these addresses now.').waitFor();
    await page.reload();
    await addresses.getByRole('listitem').first().waitFor();
    // The name of a collection is shown once it is known.
    await expect.poll(() => addresses.getByRole('listitem').first().innerText()).toBe(found);
    await seed(dashboard.app, { 'content/recipes/soup.md': post({ title: 'Soup', draft: false, tags: [] }) }, 'found');
    await region(page, 'Collections').getByRole('button', { name: 'Refresh schemas' }).click();
    await region(page, 'Collections').getByText('content/recipes').first().waitFor();
    await expectGoodPage(page);
    const { ProjectSettings = 99 } = await dashboard.statementsOf(page);
    expect(ProjectSettings).toBeLessThanOrEqual(12);
  });
});

describe('patterns of addresses', () => {
  test('are written by hand, refused beside their row, warned of, and tried out', async () => {
    await make('routed');
    await seed(dashboard.app, site, 'routed');
    const page = await dashboard.open('/p/acme/routed/settings');
    const addresses = region(page, 'Addresses');
    await addresses.getByRole('button', { name: 'Edit patterns' }).click();
    await addresses.getByRole('button', { name: 'Add pattern' }).click();
    const first = addresses.getByRole('group', { name: 'Pattern 1' });
    await first.getByRole('textbox', { name: 'Pattern' }).fill('journal/{slug}');
    await addresses.getByRole('button', { name: 'Save' }).click();
    await first.getByText('Must begin with /').waitFor();
    await expectGoodPage(page);

    await first.getByRole('textbox', { name: 'Pattern' }).fill('/journal/');
    await first.getByText('Without {slug} or another field several entries get one address.').waitFor();
    await first.getByRole('textbox', { name: 'Pattern' }).fill('/journal/{slug}/');
    await addresses.getByRole('button', { name: 'Add pattern' }).click();
    const second = addresses.getByRole('group', { name: 'Pattern 2' });
    await second.getByRole('textbox', { name: 'Pattern' }).fill('/{locale}/{slug}/');
    await second.getByRole('textbox', { name: 'Language' }).fill('de');
    await second.getByText('Never used').waitFor();
    await addresses.getByRole('button', { name: 'Move Pattern 2 up' }).click();
    expect(await addresses.getByText('Never used').count()).toBe(0);
    await addresses.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Entries have these addresses now.').waitFor();
    const patterns = addresses.getByRole('list', { name: 'Addresses' }).getByRole('listitem');
    await expect
      .poll(() => patterns.locator('code').allInnerTexts())
      .toEqual(['/{locale}/{slug}/', '/journal/{slug}/']);

    const attempt = addresses.getByRole('textbox', { name: 'Address or entry to try' });
    const matches = addresses.getByRole('list', { name: 'Matches' });
    await addresses.getByRole('button', { name: 'Try' }).click();
    await matches.getByText('/journal/two/').waitFor();
    for (const text of ['https://example.org/journal/one/', 'posts/one']) {
      await attempt.fill(text);
      await attempt.press('Enter');
      await expect.poll(() => matches.getByRole('listitem').count()).toBe(1);
      await matches.getByText('/journal/one/').waitFor();
      await attempt.fill('/nowhere/');
      await attempt.press('Enter');
      await addresses.getByText('No entry has this address').waitFor();
      await matches.waitFor({ state: 'detached' });
    }
    await expectGoodPage(page);
    await page.setViewportSize(narrow);
    await addresses.getByRole('button', { name: 'Edit patterns' }).click();
    await expectGoodPage(page);
    await addresses.getByRole('button', { name: 'Remove Pattern 2' }).click();
    await addresses.getByRole('button', { name: 'Remove Pattern 1' }).click();
    await addresses.getByRole('button', { name: 'Save' }).click();
    await addresses.getByText('None saved').waitFor();
  });
});

describe('publishing', () => {
  test('branches are protected, reviews required, and a fault stands beside its field', async () => {
    await make('ruled');
    await seed(dashboard.app, site, 'ruled');
    const page = await dashboard.open('/p/acme/ruled/settings');
    const publishing = region(page, 'Publishing');
    // It would mean nothing where no branch is protected.
    await publishing.getByRole('switch', { name: 'Publish through reviews only' }).click();
    await publishing.getByRole('combobox', { name: 'Protected branches' }).fill('release/*');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await publishing.getByRole('combobox', { name: 'New faults in a draft' }).click();
    await page.getByRole('option', { name: 'Keep it from being published' }).click();
    await publishing.getByRole('combobox', { name: 'Directory of the site' }).fill('../outside');
    await publishing.getByRole('button', { name: 'Save' }).click();
    await publishing
      .getByRole('combobox', { name: 'Directory of the site' })
      .and(page.locator('[aria-invalid="true"]'))
      .waitFor();
    await publishing.getByRole('combobox', { name: 'Directory of the site' }).fill('');
    await publishing.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    const { body } = await dashboard.app.ask('GET', '/api/v2/organizations/acme/projects/ruled/studio/repository');
    expect(body.settings).toMatchObject({ require_pull: true, publish_checks: 'block' });
    expect(body.settings.protected_branches).toEqual(['main', 'release/*']);
  });

  test('who may not manage content sees the rules, and changes none', async () => {
    const page = await dashboard.open('/p/acme/found/settings', { email: 'reads@example.org', role: 'readonly' });
    await page.getByText('You can see these settings').waitFor();
    expect(await region(page, 'Publishing').getByRole('combobox', { name: 'Directory of the site' }).isDisabled()).toBe(
      true,
    );
    expect(await page.getByRole('button', { name: 'Delete project' }).count()).toBe(0);
    await expectGoodPage(page);
  });
});

describe('mirror', () => {
  test('its state is shown, it is synchronised by hand, and left', async () => {
    const host = await upstreamHost();
    await save(host.repository, site);
    await make('mirrored');
    const studio = '/api/v2/organizations/acme/projects/mirrored/studio';
    await dashboard.app.ask('PUT', `${studio}/repository/remote`, { body: { url: host.url } });
    await dashboard.app.services.studio.upstreams.settled();
    const page = await dashboard.open('/p/acme/mirrored/settings');
    const repository = region(page, 'Repository');
    await repository.getByText(host.url).waitFor();
    const before = host.requests.length;
    await repository.getByRole('button', { name: 'Synchronise now' }).click();
    await expect.poll(() => host.requests.length).toBeGreaterThan(before);
    await repository.getByText('In sync').waitFor();
    await expectGoodPage(page);
    await repository.getByRole('button', { name: 'Stop mirroring' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop mirroring' }).click();
    await repository.getByText(host.url).waitFor({ state: 'detached' });
  });
});

describe('project', () => {
  test('the address to clone it from is copied', async () => {
    const page = await dashboard.open('/p/acme/found/settings');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: dashboard.app.url });
    await page.getByRole('button', { name: 'Copy: Clone address' }).click();
    await page.getByText('Copied', { exact: true }).first().waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('http://portico.test/git/acme/found.git');
  });

  test('its name is changed, in the bar too', async () => {
    await make('renamed');
    const page = await dashboard.open('/p/acme/renamed/settings');
    await region(page, 'Name').getByRole('textbox', { name: 'Name', exact: true }).fill('Renamed at last');
    await region(page, 'Name').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('navigation', { name: 'Where you are' }).getByText('Renamed at last').waitFor();
  });

  test('it is deleted by its typed name, and brought back', async () => {
    await make('doomed');
    const page = await dashboard.open('/p/acme/doomed/settings');
    await page.getByRole('button', { name: 'Delete project' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete doomed?' });
    const button = dialog.getByRole('button', { name: 'Delete project' });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel('Type doomed to confirm').fill('doomed');
    await expectGoodPage(page);
    await button.click();
    await page.waitForURL('**/o/acme');
    await page.getByRole('link', { name: 'doomed' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: 'doomed' }).waitFor();
  });
});

test('is shown in German', async () => {
  const page = await dashboard.open('/p/acme/found/settings', {
    email: 'jana@example.org',
    language: 'de',
    size: narrow,
  });
  await expectTexts(page, 'de', 'Geschützte Branches');
});
