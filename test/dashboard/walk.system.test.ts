/** The walk of somebody new: from the printed link to a page that is edited and published, by what is seen alone. */
import { expect, test } from 'vitest';
import { goodPassword } from '../support/browser.ts';
import { openPage } from '../support/dashboard.ts';
import { newDataDir, readFirstRun, startServer } from '../support/server-process.ts';

test('from the printed link to an edited page whose deployment is queued takes at most 15 actions', async () => {
  const dataDir = await newDataDir();
  const server = await startServer(dataDir);
  const { setup_url = '', token = '' } = await readFirstRun(dataDir);
  const page = await openPage();
  const main = page.getByRole('main');
  const dialog = page.getByRole('dialog', { name: 'New environment' });

  let actions = 0;
  const act = async (action: Promise<unknown>) => {
    actions += 1;
    await action;
  };
  await act(page.goto(setup_url.replace('localhost', '127.0.0.1')));
  await act(page.getByRole('textbox', { name: 'Name' }).fill('Hazel Quill'));
  await act(page.getByRole('textbox', { name: 'E-mail' }).fill('hazel@example.org'));
  await act(page.getByRole('textbox', { name: 'Password' }).fill(goodPassword));
  await act(page.getByRole('textbox', { name: 'Organisation' }).fill('Acme'));
  await act(page.getByRole('button', { name: 'Create account' }).click());
  await act(main.getByRole('link', { name: 'Demo' }).click());
  await act(main.getByRole('link', { name: 'Demo site' }).click());
  await act(main.getByRole('link', { name: 'Set up an environment' }).click());
  await dialog.getByText('astro').waitFor();
  await act(dialog.getByRole('textbox', { name: 'Name' }).fill('Live'));
  await act(dialog.getByRole('button', { name: 'Create' }).click());
  await act(
    page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: /^Posts/ })
      .click(),
  );
  await act(main.getByRole('link', { name: 'First frost' }).click());
  await act(main.getByRole('textbox', { name: 'Title' }).fill('First frost, again'));
  await act(main.getByRole('button', { name: 'Save' }).click());

  await page.getByText('Saved', { exact: true }).waitFor();
  const strip = page.getByRole('region', { name: 'The version you work in' });
  await strip.getByRole('link', { name: /^Live: / }).waitFor();
  expect(actions).toBeLessThanOrEqual(15);
  const ask = async <Body>(path: string) => {
    const studio = `${server.url}/api/v2/organizations/demo/projects/site/studio`;
    return (await fetch(`${studio}${path}`, { headers: { Authorization: `Bearer ${token}` } })).json() as Promise<Body>;
  };
  const entry = await ask<{ frontmatter: { title: string } }>('/collections/posts/en/first-frost');
  expect(entry.frontmatter.title).toBe('First frost, again');
  const [newest] = await ask<{ sha: string }[]>('/commits?limit=1');
  const deployed = async () =>
    (await ask<{ commit_sha: string }[]>('/deployments')).map(({ commit_sha }) => commit_sha);
  await expect.poll(deployed).toContain(newest?.sha);
  await server.stop();
});
