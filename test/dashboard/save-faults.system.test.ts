/** What fails while a file, an upload or a workflow is saved: it is said, nothing that was typed is lost, and the next try goes on from there. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { updateMember } from '../../src/domain/organizations/members.operations.ts';
import { endSessions } from '../../src/domain/users/sessions.ts';
import { User } from '../../src/domain/users/user.entity.ts';
import { createWorkflow } from '../../src/domain/workflows/workflows.operations.ts';
import { seed, studio } from '../support/app.ts';
import { goodPassword } from '../support/browser.ts';
import { makeBranch } from '../support/conflict-site.ts';
import { withDashboard } from '../support/dashboard.ts';
import { siteFiles } from '../support/site-files.ts';

const dashboard = withDashboard();
const definition = "portico: workflow/1\nname: Note\nsteps:\n  - id: note\n    type: transform\n    expression: '1'\n";
const kept = /not yet in|not saved yet/;
const contentOf = async (path: string, branch = 'main') =>
  (await dashboard.app.ask('GET', `${studio}/file?path=${path}&branch=${branch}`)).body.content;

let count = 0;
beforeAll(() => seed(dashboard.app, { ...siteFiles, 'lib/plain.cfg': 'plain\n' }));

/** A session that the browser still has the cookie of, and the server knows no more. */
async function endSession(email: string): Promise<void> {
  const em = dashboard.app.services.orm.em.fork();
  await em.transactional(async (fork) => endSessions(fork, (await fork.findOneOrFail(User, { email })).id));
}

async function setRole(email: string, role: 'owner' | 'readonly'): Promise<void> {
  const { body } = await dashboard.app.ask('GET', '/api/v2/organizations/acme/members');
  const member = String((body as { id: number; email: string }[]).find((one) => one.email === email)?.id);
  await dashboard.app.run(updateMember, { organization: 'acme', member, role });
}

async function signInAgain(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByRole('textbox', { name: 'Password' }).fill(goodPassword);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
}

interface Edited {
  page: Page;
  email: string;
  /** What is typed in. */
  box: ReturnType<Page['getByRole']>;
  /** What is stored. */
  read: () => Promise<string>;
}

/** Types a line into something that is open for editing, as a person of its own. */
const open: Record<string, () => Promise<Edited>> = {
  async file() {
    count += 1;
    const email = `file-${count}@portico.test`;
    const name = `${count}.cfg`;
    await dashboard.app.ask('POST', `${studio}/changes`, {
      body: { message: 'One more', actions: [{ op: 'write_file', path: `lib/${name}`, content: 'first\n' }] },
    });
    const page = await dashboard.open(`/p/acme/site/files/lib?file=${name}&edit=true`, { email, role: 'owner' });
    const box = page.getByRole('textbox', { name: 'Text' });
    await box.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('# typed\n');
    return { page, email, box, read: () => contentOf(`lib/${name}`) };
  },
  async workflow() {
    count += 1;
    const email = `workflow-${count}@portico.test`;
    const site = { organization: 'acme', project: 'site' };
    const { id } = (await dashboard.app.run(createWorkflow, { ...site, name: `Note ${count}`, definition })) as {
      id: string;
    };
    const page = await dashboard.open(`/p/acme/site/workflows/${id}`, { email, role: 'owner' });
    const box = page.getByRole('textbox', { name: 'Definition', exact: true });
    await box.focus();
    await page.keyboard.type('# typed\n');
    const next = `/api/v2/organizations/acme/projects/site/workflows/${id}/versions/2`;
    return { page, email, box, read: async () => (await dashboard.app.ask('GET', next)).body.source ?? '' };
  },
};

describe.each(Object.keys(open))('a %s', (kind) => {
  const saved = ({ page }: Edited) => page.getByText(/^(Saved|Saved as version 2)$/).waitFor();
  const begin = async () => {
    const edited = await (open[kind] as () => Promise<Edited>)();
    await edited.page.getByText(kept).first().waitFor();
    return { ...edited, save: edited.page.getByRole('button', { name: 'Save', exact: true }) };
  };

  test('is saved after a session that has ended is renewed over it', async () => {
    const edited = await begin();
    await endSession(edited.email);
    await edited.save.click();
    await signInAgain(edited.page);
    await saved(edited);
    expect(await edited.read()).toContain('# typed\n');
    dashboard.forgive(/401/);
  });

  test('stays as it was typed when the role to save it is taken away, and is saved when it is back', async () => {
    const edited = await begin();
    await setRole(edited.email, 'readonly');
    await edited.save.click();
    await edited.page.getByRole('main').getByRole('alert').first().waitFor();
    expect(await edited.box.innerText()).toContain('# typed');
    expect(await edited.read()).not.toContain('# typed');
    await setRole(edited.email, 'owner');
    await edited.save.click();
    await saved(edited);
    expect(await edited.read()).toContain('# typed\n');
  });

  test.each(['a server that fails', 'no network'])('stays as it was typed with %s, and is saved then', async (how) => {
    const edited = await begin();
    const isOffline = how === 'no network';
    if (isOffline) await edited.page.context().setOffline(true);
    else
      await edited.page.route('**/graphql', (route) =>
        /mutation/.test(route.request().postData() ?? '')
          ? route.fulfill({ status: 500, body: 'no' })
          : route.fallback(),
      );
    await edited.save.click();
    await edited.page
      .getByRole('main')
      .getByRole('alert')
      .getByText(isOffline ? 'The server cannot be reached.' : 'Something went wrong on the server.')
      .first()
      .waitFor();
    expect(await edited.box.innerText()).toContain('# typed');
    await edited.page.unrouteAll();
    await edited.page.context().setOffline(false);
    await edited.save.click();
    await saved(edited);
    expect(await edited.read()).toContain('# typed\n');
    dashboard.forgive(isOffline ? /INTERNET_DISCONNECTED/ : /500/);
  });
});

test('a file whose draft is deleted while it is edited is saved to the published version', async () => {
  await makeBranch(dashboard.app, 'autumn');
  const page = await dashboard.open('/p/acme/site/files/lib?file=plain.cfg&edit=true&draft=autumn');
  await page.getByRole('textbox', { name: 'Text' }).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('# typed\n');
  await page.getByText(kept).first().waitFor();
  await dashboard.app.ask('DELETE', `${studio}/branches/autumn`);
  await page.getByText(/This draft is gone/).waitFor();
  await page.getByRole('button', { name: 'Continue in the published version' }).click();
  await page.waitForURL((url) => !url.search.includes('draft'));
  // Until the published version is there, nothing can be saved.
  await page.getByText(/This draft is gone/).waitFor({ state: 'detached' });
  await page.getByRole('textbox', { name: 'Text' }).getByText('# typed').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  expect(await contentOf('lib/plain.cfg')).toBe('plain\n# typed\n');
});

describe('an upload', () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>\n');
  const picture = (name: string) => ({ name, mimeType: 'image/svg+xml', buffer: svg });

  test('goes on after a session that has ended is renewed over it', async () => {
    const email = 'uploads@portico.test';
    const page = await dashboard.open('/p/acme/site/media', { email, role: 'owner' });
    await page.getByRole('button', { name: 'Upload', exact: true }).waitFor();
    await endSession(email);
    await page.setInputFiles('input[type=file]', [picture('after.svg')]);
    await signInAgain(page);
    await page.getByRole('button', { name: /after\.svg/ }).waitFor();
    dashboard.forgive(/401/);
  });

  test('of somebody whose role was taken away says so, and is done when it is back', async () => {
    const email = 'former@portico.test';
    const page = await dashboard.open('/p/acme/site/media', { email, role: 'owner' });
    await page.getByRole('button', { name: 'Upload', exact: true }).waitFor();
    await setRole(email, 'readonly');
    await page.setInputFiles('input[type=file]', [picture('former.svg')]);
    await page.getByText('former.svg was not uploaded').waitFor();
    dashboard.forgive(/403/);
    await setRole(email, 'owner');
    await page.getByRole('button', { name: '1 task has failed' }).click();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: /former\.svg/ }).waitFor();
  });
});
