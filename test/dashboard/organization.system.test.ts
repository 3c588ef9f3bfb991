import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { userChanged } from '../../src/domain/identity/grant-cache.ts';
import { Member, ownerOf } from '../../src/domain/organizations/member.entity.ts';
import { updateMember } from '../../src/domain/organizations/members.operations.ts';
import { Organization } from '../../src/domain/organizations/organization.entity.ts';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { User } from '../../src/domain/users/user.entity.ts';
import { goodPassword } from '../support/browser.ts';
import { expectGoodPage, expectTexts, narrow, withDashboard } from '../support/dashboard.ts';

const dashboard = withDashboard();
// There is no worker: what is begun stays begun.
beforeAll(() => {
  dashboard.app.services.jobs.send = async () => {};
});
beforeEach(() => {
  dashboard.app.clock.now = null;
});

const row = (page: Page, text: string) => page.getByRole('listitem').filter({ hasText: text });
const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name });
const shownValue = async (page: Page, name: RegExp): Promise<string> =>
  (await dialog(page, name).getByRole('code').innerText()).trim().split(/\s+/).at(-1) ?? '';

async function choose(page: Page, member: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${member}` }).click();
  await page.getByRole('menuitem', { name: action, exact: true }).click();
}

/** Invites somebody over the page. @returns the path of the link */
async function invite(page: Page, email: string, role: string): Promise<string> {
  await page.getByRole('button', { name: 'Invite' }).click();
  await dialog(page, 'Invite somebody').getByLabel('E-mail').fill(email);
  await page.getByRole('radio', { name: role }).check();
  return madeLink(page, email);
}

/** Makes the link of an invitation that is filled in, and closes what shows it. @returns its path */
async function madeLink(page: Page, email: string): Promise<string> {
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = await shownValue(page, new RegExp(`Invitation of ${email}`));
  await page.getByRole('button', { name: 'Done' }).click();
  return link.replace('http://portico.test', '');
}

describe('projects', () => {
  test('one is made by its name, and is where one goes on', async () => {
    const page = await dashboard.open('/o/acme');
    await page.getByRole('button', { name: 'New project' }).click();
    await page.getByRole('button', { name: 'Create project' }).click();
    await dialog(page, 'New project').getByText('Must not be empty.').waitFor();
    await dialog(page, 'New project').getByRole('textbox', { name: 'Project', exact: true }).fill('Handbook');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.waitForURL('**/p/acme/handbook');
    await page.getByRole('link', { name: 'Organisation' }).click();
    await page.getByRole('link', { name: 'Handbook' }).waitFor();
  });

  test('a card says which version is published and what is live', async () => {
    const page = await dashboard.open('/o/acme');
    const card = row(page, 'Site').first();
    await card.getByText('main').waitFor();
    await card.getByText('Not deployed yet').waitFor();
    await expectGoodPage(page);
  });

  test('the import of a new one is followed on its card and in the tray', async () => {
    const page = await dashboard.open('/o/acme');
    await page.getByRole('button', { name: 'New project' }).click();
    await dialog(page, 'New project').getByRole('textbox', { name: 'Project', exact: true }).fill('Imported');
    await page.getByLabel(/^Repository to import/).fill('http://example.org/site.git');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.getByText('Must be an https URL.').waitFor();
    await page.getByLabel(/^Repository to import/).fill('https://example.org/site.git');
    await page.getByRole('button', { name: 'Create project' }).click();
    await row(page, 'Imported').getByText('Being imported').waitFor();
    await page.getByRole('button', { name: '1 task is running' }).click();
    await page.getByText('Import into Imported').waitFor();
  });

  test('the first of an organisation is listed as soon as its import begins, and says so on its own page', async () => {
    await dashboard.app.run(createOrganization, { name: 'New', machine_name: 'new' });
    const page = await dashboard.open('/o/acme');
    const em = dashboard.app.services.orm.em.fork();
    const { id } = await em.findOneOrFail(Organization, { machine_name: 'new' });
    const ada = await em.findOneOrFail(User, { email: 'ada@example.org' });
    await em.insert(Member, ownerOf(id, ada.id, new Date()));
    await userChanged(em, ada.id);
    await page.goto(`${dashboard.app.url}/o/new`);
    await page.getByText('No project yet').waitFor();
    await page.getByRole('button', { name: 'New project' }).click();
    await dialog(page, 'New project').getByRole('textbox', { name: 'Project', exact: true }).fill('First');
    await page.getByLabel(/^Repository to import/).fill('https://example.org/site.git');
    await page.getByRole('button', { name: 'Create project' }).click();
    await row(page, 'First').getByText('Being imported').waitFor();
    await page.getByRole('link', { name: 'First' }).click();
    await page.getByText('The repository is being imported').waitFor();
    await expectTexts(page, 'en', 'Follow the import');
    await page.getByRole('link', { name: 'Follow the import' }).click();
    await page.getByText('Importing https://example.org/site.git').waitFor();
  });

  test('many are paged', async () => {
    for (let at = 1; at <= 31; at += 1)
      await dashboard.app.run(createProject, { organization: 'acme', name: `Zoo ${String(at).padStart(2, '0')}` });
    const page = await dashboard.open('/o/acme');
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.waitForURL('**after=*');
    await page.getByRole('link', { name: 'Zoo 31' }).waitFor();
    await page.getByRole('button', { name: 'First page' }).click();
    await page.getByRole('link', { name: 'Handbook' }).waitFor();
  });
});

describe('members', () => {
  test('somebody is invited by a link, joins, gets other rights, and is removed', async () => {
    const page = await dashboard.open('/o/acme?tab=members');
    const link = await invite(page, 'bob@example.org', 'Reader');
    await row(page, 'bob@example.org').getByText('Invited', { exact: true }).waitFor();

    const bob = await dashboard.open(link, { email: null });
    await bob.getByRole('textbox', { name: 'Name', exact: true }).fill('Bob');
    await bob.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
    await bob.getByRole('button', { name: 'Join' }).click();
    await bob.getByRole('heading', { name: 'Acme' }).waitFor();
    await bob.getByRole('tab', { name: 'Members' }).click();
    await row(bob, 'Bob').getByText('Reader').waitFor();
    expect(await bob.getByRole('button', { name: 'Invite' }).count()).toBe(0);

    await page.reload();
    await choose(page, 'Bob', 'Change rights');
    await page.getByRole('radio', { name: 'Editor' }).check();
    await page.getByText('Further permissions').click();
    await page.getByRole('checkbox', { name: 'Workflows: Manage' }).check();
    await page.getByRole('combobox', { name: 'Projects' }).fill('Site');
    await page.getByRole('option', { name: 'Site', exact: true }).click();
    await page.keyboard.press('Escape');
    await expectGoodPage(page);
    await page.getByRole('button', { name: 'Save' }).click();
    await row(page, 'Bob').getByText('Editor').waitFor();
    await row(page, 'Bob').getByText('1 further permission · site').waitFor();

    await choose(page, 'Bob', 'Remove');
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await row(page, 'Bob').waitFor({ state: 'detached' });
  });

  test('other rights for somebody who has not joined make a new link, and the old one is no longer valid', async () => {
    const page = await dashboard.open('/o/acme?tab=members');
    const first = await invite(page, 'promoted@example.org', 'Reader');
    await choose(page, 'promoted@example.org', 'Change rights');
    await page.getByRole('radio', { name: 'Editor' }).check();
    const second = await madeLink(page, 'promoted@example.org');
    await row(page, 'promoted@example.org').getByText('Editor').waitFor();
    for (const [link, end] of [
      [first, 'This invitation is no longer valid'],
      [second, 'Acme'],
    ] as const) {
      const visitor = await dashboard.open(link, { email: null });
      await visitor.getByRole('textbox', { name: 'Name', exact: true }).fill('Promoted');
      await visitor.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
      await visitor.getByRole('button', { name: 'Join' }).click();
      await visitor.getByText(end).first().waitFor();
    }
  });

  test('a link that was used says so', async () => {
    const page = await dashboard.open('/o/acme?tab=members');
    const link = await invite(page, 'once@example.org', 'Reader');
    for (const end of ['Acme', 'This invitation is no longer valid']) {
      const visitor = await dashboard.open(link, { email: null });
      await visitor.getByRole('textbox', { name: 'Name', exact: true }).fill('Once');
      await visitor.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
      await visitor.getByRole('button', { name: 'Join' }).click();
      await visitor.getByText(end).first().waitFor();
    }
  });

  test('the last Owner stays, with a sentence that says why', async () => {
    const page = await dashboard.open('/o/acme?tab=members');
    await choose(page, 'ada', 'Remove');
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('alert').getByText('The last Owner of an organisation stays').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await row(page, 'ada@example.org').getByText('Owner').waitFor();
  });

  test('a proof that is too old is wanted again, and the command then goes through', async () => {
    const page = await dashboard.open('/o/acme?tab=members');
    await page.getByRole('button', { name: 'Invite' }).waitFor();
    dashboard.app.clock.now = new Date(Date.now() + 11 * 60_000);
    await page.getByRole('button', { name: 'Invite' }).click();
    await dialog(page, 'Invite somebody').getByLabel('E-mail').fill('later@example.org');
    await page.getByRole('button', { name: 'Create link' }).click();
    const proof = dialog(page, 'Confirm your password');
    await proof.getByRole('textbox', { name: 'Password' }).fill('wrong');
    await proof.getByRole('button', { name: 'Continue' }).click();
    await proof.getByText('The password is wrong.').waitFor();
    await proof.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
    await proof.getByRole('button', { name: 'Continue' }).click();
    expect(await shownValue(page, /Invitation of later@example.org/)).toContain('/join#');
  });

  test('after the session has ended one signs in over the page, which keeps what was typed', async () => {
    const page = await dashboard.open('/o/acme?tab=members', { email: 'ended@example.org', role: 'admin' });
    await page.getByRole('button', { name: 'Invite' }).click();
    await dialog(page, 'Invite somebody').getByLabel('E-mail').fill('kept@example.org');
    dashboard.app.clock.now = new Date(Date.now() + 8 * 24 * 3600_000);
    await page.getByRole('button', { name: 'Create link' }).click();
    const ended = dialog(page, 'Your session has ended');
    await ended.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
    await ended.getByRole('button', { name: 'Sign in' }).click();
    expect(await shownValue(page, /Invitation of kept@example.org/)).toContain('/join#');
    dashboard.forgive(/401/);
  });

  test('a role that was taken away meanwhile is said to be lacking, and what was typed stays', async () => {
    const page = await dashboard.open('/o/acme?tab=members', { email: 'eve@example.org', role: 'admin' });
    await page.getByRole('button', { name: 'Invite' }).click();
    const form = dialog(page, 'Invite somebody');
    await form.getByLabel('E-mail').fill('friend@example.org');
    const { body } = await dashboard.app.ask('GET', '/api/v2/organizations/acme/members?per_page=100');
    const { id } = (body as { id: number; email: string }[]).find(({ email }) => email === 'eve@example.org') ?? {};
    await dashboard.app.run(updateMember, { organization: 'acme', member: String(id), role: 'readonly' });
    await page.getByRole('button', { name: 'Create link' }).click();
    await form.getByRole('alert').getByText('manage_organization').waitFor();
    expect(await form.getByLabel('E-mail').inputValue()).toBe('friend@example.org');
  });
});

describe('tokens', () => {
  test('one is made for chosen rights, shown once, copied, and revoked', async () => {
    const page = await dashboard.open('/o/acme?tab=tokens');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: dashboard.app.url });
    await page.getByRole('button', { name: 'New token' }).click();
    const form = dialog(page, 'New token');
    await form.getByRole('textbox', { name: 'Name', exact: true }).fill('Deploy hook');
    await form.getByRole('combobox', { name: 'What it may do' }).click();
    await page.getByRole('option', { name: 'Chosen permissions' }).click();
    await form.getByRole('checkbox', { name: 'Content: See' }).check();
    await form.getByRole('combobox', { name: 'Expires' }).click();
    await page.getByRole('option', { name: 'In 30 days' }).click();
    await expectGoodPage(page);
    await form.getByRole('button', { name: 'Create token' }).click();
    const text = await shownValue(page, /The token Deploy hook/);
    expect(text).toMatch(/^ptc_[0-9A-Za-z]{36}$/);
    await page.getByRole('button', { name: 'Copy: Token' }).click();
    await page.getByText('Copied', { exact: true }).first().waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text);
    await page.getByRole('button', { name: 'Done' }).click();

    const made = row(page, 'Deploy hook');
    await made.getByText('1 permission · All projects · never used').waitFor();
    expect((await dashboard.app.ask('GET', '/api/v2/organizations', { token: text })).status).toBe(200);
    // The use of a token is written after the answer.
    const used = async () => {
      const { body } = await dashboard.app.ask('GET', '/api/v2/organizations/acme/tokens?per_page=100');
      return (body as { name: string; last_used: string | null }[]).find(({ name }) => name === 'Deploy hook')
        ?.last_used;
    };
    await expect.poll(used).toEqual(expect.any(String));
    await page.reload();
    await made.getByText('used this minute').waitFor();
    await page.getByRole('button', { name: 'Revoke Deploy hook' }).click();
    await dialog(page, 'Revoke Deploy hook?').getByRole('button', { name: 'Revoke' }).click();
    await made.waitFor({ state: 'detached' });
    expect((await dashboard.app.ask('GET', '/api/v2/organizations', { token: text })).status).toBe(401);
  });
});

describe('audit log', () => {
  test('is filtered in the address, and paged', async () => {
    const page = await dashboard.open('/o/acme?tab=audit');
    await page.getByLabel('Action').fill('identity.createToken');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.waitForURL('**action=identity.createToken*');
    const rows = page.getByRole('table', { name: 'Audit log' }).getByRole('row');
    await rows.filter({ hasText: 'projects.' }).first().waitFor({ state: 'detached' });
    expect(await rows.filter({ hasText: 'identity.createToken' }).first().innerText()).toMatch(
      /^\d{1,2} [A-Z][a-z]{2,3} 20\d\d, \d\d:\d\d/,
    );
    await page.getByLabel('By').fill('user:999999');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByText('Nothing was recorded that fits the filter.').waitFor();
    await page.goBack();
    await page.getByRole('row').filter({ hasText: 'identity.createToken' }).first().waitFor();
    expect(await page.getByLabel('By').inputValue()).toBe('');
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('row').filter({ hasText: 'projects.createProject' }).first().waitFor();
    await expectGoodPage(page);
  });

  test.each([
    ['Lines of JSON (NDJSON)', 'acme-audit.ndjson', /^\{"id":.*\}\n$/s],
    ['Table (CSV)', 'acme-audit.csv', /^at,actor,actor_name,action,.*\r\n.*projects\.createProject/s],
  ])('is kept as a file: %s', async (name, file, content) => {
    const page = await dashboard.open('/o/acme?tab=audit');
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name }).click()]);
    expect(download.suggestedFilename()).toBe(file);
    const parts: Buffer[] = [];
    for await (const part of await download.createReadStream()) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString();
    expect(text).toMatch(content);
    const { headers } = await dashboard.app.ask('GET', '/api/v2/organizations/acme/audit?per_page=1');
    // All of it, with the heading of the table.
    const lines = text.trim().split('\n').length - (file.endsWith('csv') ? 1 : 0);
    expect(lines).toBeGreaterThan(30);
    expect(lines).toBeLessThanOrEqual(Number(headers.get('X-Total-Count')));
  });
});

describe('settings', () => {
  test('the name is changed, and a name that cannot be is refused beside its field', async () => {
    const page = await dashboard.open('/o/acme?tab=settings');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByText('Must not be empty.').waitFor();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Acme & Söhne');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByRole('heading', { name: 'Acme & Söhne' }).waitFor();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Acme');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByRole('heading', { name: 'Acme', exact: true }).waitFor();
    await expectGoodPage(page);
  });

  test('a model of the assistant is set with its key, refused beside its field, and taken back', async () => {
    const { services } = dashboard.app;
    services.models = { ...services.models, ownAddresses: true };
    const page = await dashboard.open('/o/acme?tab=settings');
    const section = page.getByRole('region', { name: 'Assistant' });
    await section.getByLabel('Address').fill('http://127.0.0.1/v1');
    await section.getByRole('textbox', { name: 'Model' }).fill('ours');
    await section.getByLabel('Key', { exact: true }).fill('key-of-acme');
    await section.getByRole('button', { name: 'Save' }).click();
    await section.getByText(/loopback address/).waitFor();
    await section.getByLabel('Address').fill('https://9.9.9.9/v1');
    await section.getByRole('button', { name: 'Save' }).click();
    await section.getByLabel('Remove the stored key').waitFor();
    expect(await section.getByLabel('Key', { exact: true }).inputValue()).toBe('');
    expect(await section.innerHTML()).not.toContain('key-of-acme');
    await expectGoodPage(page);
    await section.getByRole('button', { name: 'Remove these settings' }).click();
    await section.getByLabel('Remove the stored key').waitFor({ state: 'detached' });
    expect(await section.getByLabel('Address').inputValue()).toBe('');
  });
});

test('an organisation one is not in is said to be closed, and one that is not there to be missing', async () => {
  const page = await dashboard.open('/o/nowhere');
  await page.getByText('There is nothing here').waitFor();
  await expectGoodPage(page);
});

test('each tab asks the database at most twelve things at first', async () => {
  const page = await dashboard.open('/o/acme');
  for (const tab of ['Members', 'Tokens', 'Audit log', 'Settings']) {
    await page.getByRole('tab', { name: tab }).click();
    await page.getByRole('tabpanel', { name: tab }).locator('form, button, li').first().waitFor();
  }
  const { ProjectStates: _, ...costs } = await dashboard.statementsOf(page);
  expect(Object.keys(costs)).toEqual(
    expect.arrayContaining(['OrganizationProjects', 'OrganizationMembers', 'OrganizationTokens', 'OrganizationAudit']),
  );
  for (const [name, count] of Object.entries(costs)) expect([name, count <= 12]).toEqual([name, true]);
});

test('is shown in German on every tab', async () => {
  const page = await dashboard.open('/o/acme', { email: 'jana@example.org', language: 'de', size: narrow });
  await expectTexts(page, 'de', 'Neues Projekt');
  for (const [tab, text] of [
    ['Mitglieder', 'Einladen'],
    ['Tokens', 'Neues Token'],
    ['Einstellungen', 'Kurzname'],
  ] as const) {
    await page.getByRole('tab', { name: tab }).click();
    await expectTexts(page, 'de', text);
  }
});
